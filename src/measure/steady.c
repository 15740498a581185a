/* SPDX-License-Identifier: MIT */
/* The warm-up is cut off where the marginal standard error of the rest is least: MSER, K. P. White,
 * "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6),
 * 1997; on batch means (of 5 records and more): White, Cobb and Spratt, Winter Simulation
 * Conference 2000. The cut lies in the first half, and is made only if the part that is cut off
 * differs from the rest. The rest has settled if it has no trend, by linear regression, and no
 * point at which its mean changes. Both tests allow for the correlation of neighbours. */
#include "measure/steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascending.h"
#include "base/student.h"

/* Greatest deviation from the median that is no outlier, in standard deviations. */
#define OUTLIER 4.0

/* Steps that are more than chance, in standard deviations; greater than usual quantiles, since the
 * point is the best of many. */
#define CUT    3.0
#define CHANGE 3.5

/* Least number of values on both sides of a change. */
#define LEAST_AROUND 3

/* A trend is more than chance at 99 %: this times the quantile for 95 %, as in the normal
 * distribution. */
#define TREND 1.314

/* The values that are judged: at most one for each batch. */
struct series {
    size_t count;
    /* As shares of the level. */
    double values[SPEX_STEADY_MOST];
};

static double series_median(const double *values, size_t count) {
    double sorted[SPEX_STEADY_MOST];
    memcpy(sorted, values, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), spex_ascending);
    return (sorted[count / 2] + sorted[(count - 1) / 2]) / 2;
}

/* Limits values to what is usual in the second half: single pauses must neither hide a warm-up nor
 * look like one. */
static void series_confine(struct series *series, double tolerance) {
    size_t half = series->count / 2, rest = series->count - half;
    double distances[SPEX_STEADY_MOST] = {0};
    double median = series_median(series->values + half, rest), most = 0;
    for (size_t v = 0; v < rest; v++) {
        distances[v] = fabs(series->values[half + v] - median);
        most = fmax(most, distances[v]);
    }
    /* The factor makes the median deviation a standard deviation of the normal distribution. */
    double deviation = 1.4826 * series_median(distances, rest);
    double limit = deviation > 0 ? OUTLIER * fmax(deviation, tolerance) : most;
    for (size_t v = 0; v < series->count; v++)
        series->values[v] = fmax(median - limit, fmin(series->values[v], median + limit));
}

/* Divides values by their level: the median of the second half, or the mean of absolute values
 * where the median is 0. */
static void series_of(const double *values, size_t count, double tolerance, struct series *series) {
    size_t half = count / 2;
    double level = fabs(series_median(values + half, count - half));
    for (size_t v = half; !(level > 0) && v < count; v++)
        level += fabs(values[v]) / (double)(count - half);
    series->count = count;
    for (size_t v = 0; v < count; v++)
        series->values[v] = level > 0 ? values[v] / level : values[v];
    series_confine(series, tolerance);
}

/* Mean and scatter of some values. */
struct moments {
    double mean;
    /* Sum of the squared distances from the mean. */
    double squares;
};

/* Two passes, which lose less precision than sums of squares. */
static struct moments moments_of(const double *values, size_t count) {
    struct moments moments = {0, 0};
    for (size_t v = 0; v < count; v++)
        moments.mean += values[v] / (double)count;
    for (size_t v = 0; v < count; v++)
        moments.squares += (values[v] - moments.mean) * (values[v] - moments.mean);
    return moments;
}

/* Factor of a mean's variance for the correlation of neighbours, as in an autoregressive process of
 * first order; bias removed as in batch_means.c. */
static double correlation_inflation(const double *residuals, size_t count) {
    double squares = 0, products = 0;
    for (size_t v = 0; v < count; v++) {
        squares += residuals[v] * residuals[v];
        products += v ? residuals[v] * residuals[v - 1] : 0;
    }
    if (!(squares > 0))
        return 1;
    double r = products / squares;
    r = fmin(fmax(r + (1 + 3 * r) / (double)count, 0), 1 - 2 / (double)count);
    return (1 + r) / (1 - r);
}

/* A regression line: its change from the first to the last value, with the change's standard error
 * and degrees of freedom. */
struct line {
    double change;
    double error;
    double freedom;
};

/* Least squares. The middle of the positions is taken as their origin, which makes slope and mean
 * independent. The residuals' correlation inflates the variance and takes degrees of freedom
 * away. */
static struct line line_through(const double *values, size_t count) {
    double residuals[SPEX_STEADY_MOST], products = 0, times = 0, squares = 0;
    const double middle = (double)(count - 1) / 2, mean = moments_of(values, count).mean;
    for (size_t v = 0; v < count; v++) {
        products += ((double)v - middle) * values[v];
        times += ((double)v - middle) * ((double)v - middle);
    }
    double slope = products / times;
    for (size_t v = 0; v < count; v++) {
        residuals[v] = values[v] - mean - slope * ((double)v - middle);
        squares += residuals[v] * residuals[v];
    }
    double inflation = correlation_inflation(residuals, count);
    double variance = squares / (double)(count - 2) / times * inflation;
    return (struct line){slope * (double)(count - 1), sqrt(variance) * (double)(count - 1),
                         fmax((double)count / inflation - 2, 2)};
}

/* A trend counts if it is more than chance, and more than the user minds. */
static bool has_trend(const double *values, size_t count, double tolerance) {
    struct line line = line_through(values, count);
    double change = fabs(line.change);
    return change > tolerance && change > TREND * spex_student_95(line.freedom) * line.error;
}

/* The best cut in the first half, by MSER: the least sum of squares over the squared number of
 * values left. O(n²), for at most SPEX_STEADY_MOST values. */
static size_t series_best_cut(const struct series *series) {
    size_t best = 0;
    double least = INFINITY;
    for (size_t from = 0; from <= series->count / 2; from++) {
        double left = (double)(series->count - from);
        double error =
            moments_of(series->values + from, series->count - from).squares / left / left;
        if (error < least) {
            least = error;
            best = from;
        }
    }
    return best;
}

/* The likeliest point of a change of the mean (Hawkins, JASA 72(357), 1977): the greatest sum of
 * squares between the two parts. */
static size_t best_change(const double *values, size_t count) {
    size_t best = count / 2;
    double most = 0;
    for (size_t at = LEAST_AROUND; at + LEAST_AROUND <= count; at++) {
        double before = (double)at, after = (double)(count - at);
        double step = moments_of(values, at).mean - moments_of(values + at, count - at).mean;
        double between = step * step * before * after;
        if (between > most) {
            most = between;
            best = at;
        }
    }
    return best;
}

/* A step of the mean: its height, with the height's standard error and degrees of freedom. */
struct step {
    double height;
    double error;
    double freedom;
};

/* The step of the mean at a point. The variance is that of the values from `first` on. */
static struct step step_at(const double *values, size_t count, size_t at, size_t first) {
    double residuals[SPEX_STEADY_MOST], squares = 0;
    double before = moments_of(values, at).mean, after = moments_of(values + at, count - at).mean;
    size_t known = count - first;
    for (size_t v = first; v < count; v++) {
        residuals[v - first] = values[v] - (v < at ? before : after);
        squares += residuals[v - first] * residuals[v - first];
    }
    double means = first < at ? 2 : 1, inflation = correlation_inflation(residuals, known);
    double variance =
        squares / ((double)known - means) * inflation * (1 / (double)at + 1 / (double)(count - at));
    return (struct step){fabs(after - before), sqrt(variance),
                         fmax((double)known / inflation - means, 2)};
}

/* Returns whether the part before the cut differs from the rest. The variance is that of the rest:
 * the warm-up's own would hide it. */
static bool series_begins_otherwise(const struct series *series, size_t cut) {
    struct step step = step_at(series->values, series->count, cut, cut);
    return step.height > CUT * step.error;
}

/* Student's quantile over the normal one widens the error of a short series. */
static bool has_change(const double *values, size_t count, double tolerance) {
    struct step step = step_at(values, count, best_change(values, count), 0);
    double error = step.error * spex_student_95(step.freedom) / SPEX_NORMAL_95;
    return step.height > tolerance && step.height > CHANGE * error;
}

/* A series that does not begin otherwise is not cut at all, so no records are given away. */
struct spex_steady spex_steady_of(const double *values, size_t count, double tolerance) {
    struct series series;
    if (count < SPEX_STEADY_LEAST)
        return (struct spex_steady){false, 0};
    series_of(values, count, tolerance, &series);
    size_t best = series_best_cut(&series), cut = best;
    if (cut && !series_begins_otherwise(&series, cut))
        cut = 0;
    const double *rest = series.values + cut;
    if (has_trend(rest, count - cut, tolerance) || has_change(rest, count - cut, tolerance))
        return (struct spex_steady){false, best};
    return (struct spex_steady){true, cut};
}
