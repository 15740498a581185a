/* SPDX-License-Identifier: MIT */
/* The warm-up is cut off where the marginal standard error of what is left is least: MSER, K. P. White, "An effective
 * truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997; on batch means (of 5 records
 * and more): Franklin and White, "Stationarity testing", Winter Simulation Conference 2008. A series whose
 * minimum lies in the second half has not settled. A cut is made only when what is cut off differs from the rest, and the rest must have
 * no trend: a regression on time, with the correlation of its residuals in its error. */
#include "steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../confidence.h"

/* Deviations from the median that are no outlier, in standard deviations. */
#define OUTLIER 4.0

/* Of the cut that looks best among many: when it is more than chance, in standard deviations. */
#define CUT 3.0

/* A trend is more than chance at 99 %: as many times the quantile for 95 %, of the normal law. */
#define TREND 1.314

struct series {
    size_t count;
    double values[SPEX_STEADY_MOST]; /* as shares of the level */
};

static int compare(const void *left, const void *right) {
    double one = *(const double *)left, other = *(const double *)right;
    return (one > other) - (one < other);
}

static double median_of(const double *values, size_t count) {
    double sorted[SPEX_STEADY_MOST];
    memcpy(sorted, values, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare);
    return (sorted[count / 2] + sorted[(count - 1) / 2]) / 2;
}

/* Single pauses and the like must neither hide a warm-up nor look like one: values are confined to what is usual in the
 * second half. */
static void confine(struct series *series) {
    size_t half = series->count / 2, rest = series->count - half;
    double distances[SPEX_STEADY_MOST];
    double median = median_of(series->values + half, rest), most = 0;
    for (size_t v = 0; v < rest; v++) {
        distances[v] = fabs(series->values[half + v] - median);
        most = fmax(most, distances[v]);
    }
    double deviation = 1.4826 * median_of(distances, rest); /* of the normal law */
    double limit = deviation > 0 ? OUTLIER * deviation : most;
    for (size_t v = 0; v < series->count; v++)
        series->values[v] = fmax(median - limit, fmin(series->values[v], median + limit));
}

static void series_of(const double *values, size_t count, struct series *series) {
    size_t half = count / 2;
    double level = fabs(median_of(values + half, count - half));
    for (size_t v = half; !(level > 0) && v < count; v++)
        level += fabs(values[v]) / (double)(count - half);
    series->count = count;
    for (size_t v = 0; v < count; v++)
        series->values[v] = level > 0 ? values[v] / level : values[v];
    confine(series);
}

struct moments {
    double mean;
    double squares; /* of distances from the mean */
};

static struct moments moments_of(const double *values, size_t count) {
    struct moments moments = {0, 0};
    for (size_t v = 0; v < count; v++)
        moments.mean += values[v] / (double)count;
    for (size_t v = 0; v < count; v++)
        moments.squares += (values[v] - moments.mean) * (values[v] - moments.mean);
    return moments;
}

/* How much more a mean varies for the correlation of neighbours, as in an autoregressive process of first order. */
static double inflation_of(const double *residuals, size_t count) {
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

/* A straight line through values, and what is left of them. */
struct line {
    double change; /* from the first to the last */
    double error;
    double freedom;
};

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
    double inflation = inflation_of(residuals, count);
    double variance = squares / (double)(count - 2) / times * inflation;
    return (struct line){slope * (double)(count - 1), sqrt(variance) * (double)(count - 1),
                         fmax((double)count / inflation - 2, 2)};
}

static bool has_trend(const double *values, size_t count, double tolerance) {
    struct line line = line_through(values, count);
    double change = fabs(line.change);
    return change > tolerance && change > TREND * spex_student_95(line.freedom) * line.error;
}

/* Up to `most`. */
static size_t best_cut(const struct series *series, size_t most) {
    size_t best = 0;
    double least = INFINITY;
    for (size_t from = 0; from <= most; from++) {
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

/* Whether what comes before the cut has another mean than what comes after it; how much values vary is told by what
 * comes after the cut, or by both. */
static bool differs(const struct series *series, size_t cut, bool both) {
    double residuals[SPEX_STEADY_MOST];
    const double *values = series->values;
    size_t first = both ? 0 : cut, left = series->count - cut, known = series->count - first;
    struct moments head = moments_of(values, cut), tail = moments_of(values + cut, left);
    for (size_t v = first; v < series->count; v++)
        residuals[v - first] = values[v] - (v < cut ? head.mean : tail.mean);
    double squares = tail.squares + (both ? head.squares : 0);
    double variance = squares / (double)(known - 1 - both) * inflation_of(residuals, known) *
                      (1 / (double)cut + 1 / (double)left);
    return fabs(head.mean - tail.mean) > CUT * sqrt(variance);
}

/* Whether the best cut of all is in the second half. Few values are after it, and there is no warm-up before it. */
static bool changes_late(const struct series *series) {
    size_t cut = best_cut(series, series->count - SPEX_STEADY_LEAST / 2);
    return cut >= series->count / 2 && differs(series, cut, true);
}

struct spex_steady spex_steady_of(const double *values, size_t count, double tolerance) {
    struct series series;
    if (count < SPEX_STEADY_LEAST)
        return (struct spex_steady){false, 0};
    series_of(values, count, &series);
    size_t cut = best_cut(&series, count / 2);
    if (cut && !differs(&series, cut, false))
        cut = 0;
    bool trend = has_trend(series.values + cut, count - cut, tolerance);
    return (struct spex_steady){!changes_late(&series) && !trend, cut};
}
