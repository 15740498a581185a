/* SPDX-License-Identifier: MIT */
/* Makes points of measurements: sorts the rows by their parameters, leaves outliers out of each
 * group of equal ones by the median absolute deviation, and estimates how many independent
 * measurements correlated ones are worth. O(n log n). */
#define _GNU_SOURCE
#include "model/fit/points.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascending.h"
#include "model/fit/singles.h"

/* If there are too many combinations, values in the same part of an octave become one point. An
 * octave has this many parts at first; the number is halved until there are few enough points. */
#define BINS_PER_OCTAVE 16.0
/* So many halvings make parts of thousands of octaves, on both sides of 1; then there is one. */
#define HALVINGS_MOST   16

/* Keys to sort rows by: the parameters themselves, or coarse ones. */
struct sorting {
    /* Row by row. */
    const double *keys;
    size_t width;
};

/* Order by the keys and then by the row, so that the result does not depend on qsort_r. */
static int compare_by_keys(const void *a, const void *b, void *user) {
    const struct sorting *sorting = user;
    size_t one = *(const size_t *)a, other = *(const size_t *)b;
    const double *x = sorting->keys + one * sorting->width,
                 *y = sorting->keys + other * sorting->width;
    for (size_t k = 0; k < sorting->width; k++)
        if (x[k] != y[k])
            return x[k] < y[k] ? -1 : 1;
    return one < other ? -1 : one > other;
}

/* The median of sorted values. */
static double median(const double *values, size_t count) {
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Greatest distance from the median that is no outlier. `values` is sorted; `scratch` is as
 * long. */
static double outlier_distance(const double *values, double *scratch, size_t count) {
    double middle = median(values, count);
    for (size_t v = 0; v < count; v++)
        scratch[v] = fabs(values[v] - middle);
    qsort(scratch, count, sizeof(*scratch), spex_ascending);
    return fmax(SPEX_OUTLIER_DEVIATIONS * SPEX_NORMAL_PER_MAD * median(scratch, count),
                SPEX_OUTLIER_SHARE * fabs(middle));
}

/* Number of values further than `distance` from `middle`. */
static double count_beyond(const double *values, size_t count, double middle, double distance) {
    double sum = 0;
    for (size_t v = 0; v < count; v++)
        sum += fabs(values[v] - middle) > distance;
    return sum;
}

/* Sets the point's mean and variance without outliers, in one pass (Welford, Technometrics 4(3),
 * 1962). Sorts `values` where it looks for outliers. Returns the greatest distance from *centre
 * that is no outlier. */
static double point_summarise(struct spex_points *points, size_t point, double *values,
                              double *scratch, size_t count, double *centre) {
    double middle = 0, distance = INFINITY, mean = 0, squares = 0, used = 0;
    if (count >= SPEX_OUTLIER_ROWS_MIN) {
        qsort(values, count, sizeof(*values), spex_ascending);
        middle = median(values, count);
        distance = outlier_distance(values, scratch, count);
        if (count >= SPEX_MODES_ROWS_MIN &&
            count_beyond(values, count, middle, distance) > SPEX_OUTLIERS_MOST * (double)count)
            distance = INFINITY;
    }
    for (size_t v = 0; v < count; v++) {
        if (fabs(values[v] - middle) > distance)
            continue;
        double step = values[v] - mean;
        mean += step / ++used;
        squares += step * (values[v] - mean);
    }
    points->times[point] = mean;
    points->rows[point] = used;
    points->variances[point] = used > 1 ? squares / (used - 1) : 0;
    points->few[point] = count < SPEX_OUTLIER_ROWS_MIN;
    points->outliers += count - (size_t)used;
    *centre = middle;
    return distance;
}

/* A measurement that is no outlier, and its run. */
struct in_run {
    uint32_t run;
    double time;
};

static int compare_by_run(const void *a, const void *b) {
    const struct in_run *one = a, *other = b;
    return one->run < other->run ? -1 : one->run > other->run;
}

/* Variance of the points' means relative to the means: as observed between runs, and as it would be
 * if measurements were independent. Their ratio is the design effect. */
struct clusters {
    double observed;
    double independent;
};

/* Adds a point's variances: that of a mean of clusters, from the clusters' distances to it
 * (Cochran, Sampling Techniques, 3rd ed., section 9A). */
static void clusters_add(struct clusters *clusters, const struct spex_points *points, size_t point,
                         struct in_run *in_runs, size_t count) {
    double mean = points->times[point], rows = (double)count, sum = 0;
    size_t runs = 0;
    qsort(in_runs, count, sizeof(*in_runs), compare_by_run);
    for (size_t begin = 0, end; begin < count; begin = end, runs++) {
        double distance = 0;
        for (end = begin; end < count && in_runs[end].run == in_runs[begin].run; end++)
            distance += in_runs[end].time - mean;
        sum += distance * distance;
    }
    if (runs < 2 || !(mean > 0))
        return;
    clusters->observed += sum / (rows * rows) * (double)runs / (double)(runs - 1) / (mean * mean);
    clusters->independent += points->variances[point] / rows / (mean * mean);
}

/* Divides the points' numbers of measurements by the design effect, at least 1. One effect for
 * all points, since single points have too few runs for one of their own. */
static void points_count_independent(struct spex_points *points, const struct clusters *clusters) {
    double effect = clusters->independent > 0 ? clusters->observed / clusters->independent : 1;
    for (size_t p = 0; p < points->count && effect > 1; p++)
        points->rows[p] = fmax(points->rows[p] / effect, 1);
}

/* Number of different keys in this order of rows, in which equal keys are neighbours. */
static size_t count_different_keys(const struct sorting *sorting, const size_t *order,
                                   size_t count) {
    size_t different = count > 0;
    for (size_t r = 1; r < count; r++)
        different += memcmp(sorting->keys + order[r] * sorting->width,
                            sorting->keys + order[r - 1] * sorting->width,
                            sorting->width * sizeof(double)) != 0;
    return different;
}

/* Makes keys that are equal for values in the same part of an octave. Zeros have a key of their
 * own, so that there are at last two keys for each parameter, and few enough points. */
static void keys_make_coarse(double *keys, const double *parameters, size_t count, int halved) {
    double bins = ldexp(BINS_PER_OCTAVE, -halved);
    for (size_t k = 0; k < count; k++)
        keys[k] = !(parameters[k] > 0)     ? -INFINITY
                  : halved < HALVINGS_MOST ? floor(log2(parameters[k]) * bins)
                                           : 0;
}

int spex_points_allocate(struct spex_points *points, size_t count) {
    points->parameters = calloc(count * points->parameter_count + 1, sizeof(double));
    points->times = calloc(count + 1, sizeof(double));
    points->rows = calloc(count + 1, sizeof(double));
    points->variances = calloc(count + 1, sizeof(double));
    points->few = calloc(count + 1, sizeof(bool));
    return points->parameters && points->times && points->rows && points->variances && points->few
               ? 0
               : -ENOMEM;
}

/* Makes a point of each group of rows with equal keys. The point's parameters are the means of the
 * rows', which are exact where all are equal. */
static void points_gather(struct spex_points *points, const struct spex_measurements *measured,
                          const struct sorting *sorting, const size_t *order, double *scratch,
                          struct in_run *in_runs) {
    size_t width = sorting->width;
    struct clusters clusters = {.observed = 0};
    for (size_t begin = 0, end; begin < measured->count; begin = end) {
        double *at = points->parameters + points->count * width;
        const double *first = measured->parameters + order[begin] * width;
        for (end = begin; end < measured->count &&
                          memcmp(sorting->keys + order[end] * width,
                                 sorting->keys + order[begin] * width, width * sizeof(double)) == 0;
             end++) {
            scratch[end - begin] = measured->times[order[end]];
            for (size_t k = 0; k < width; k++)
                at[k] += measured->parameters[order[end] * width + k] - first[k];
        }
        for (size_t k = 0; k < width; k++)
            at[k] = first[k] + at[k] / (double)(end - begin);
        double middle, distance = point_summarise(points, points->count++, scratch,
                                                  scratch + measured->count, end - begin, &middle);
        size_t used = 0;
        for (size_t r = begin; r < end && measured->runs; r++)
            if (fabs(measured->times[order[r]] - middle) <= distance)
                in_runs[used++] =
                    (struct in_run){measured->runs[order[r]], measured->times[order[r]]};
        clusters_add(&clusters, points, points->count - 1, in_runs, used);
    }
    points_count_independent(points, &clusters);
}

/* Sets `order` to the numbers of the rows, sorted by their keys. */
static void rows_sort(const struct sorting *sorting, size_t *order, size_t count) {
    for (size_t r = 0; r < count; r++)
        order[r] = r;
    qsort_r(order, count, sizeof(*order), compare_by_keys, (void *)(uintptr_t)sorting);
}

/* Sorts by the exact values first, and by coarser and coarser ones while there are too many
 * points. */
int spex_points_make(struct spex_points *points, const struct spex_measurements *measured) {
    size_t width = measured->parameter_count, count = measured->count, different;
    size_t *order = calloc(count + 1, sizeof(*order));
    double *coarse = calloc(count * width + 1, sizeof(*coarse));
    double *scratch = calloc(2 * count + 1, sizeof(*scratch));
    struct in_run *in_runs = calloc(count + 1, sizeof(*in_runs));
    struct sorting sorting = {measured->parameters, width};
    *points = (struct spex_points){.parameter_count = width};
    int err = order && coarse && scratch && in_runs ? 0 : -ENOMEM;
    if (!err) {
        rows_sort(&sorting, order, count);
        different = count_different_keys(&sorting, order, count);
        for (int halved = 0; different > SPEX_POINTS_MAX; halved++) {
            keys_make_coarse(coarse, measured->parameters, count * width, halved);
            sorting.keys = coarse;
            rows_sort(&sorting, order, count);
            different = count_different_keys(&sorting, order, count);
        }
        err = spex_points_allocate(points, different);
    }
    if (!err)
        points_gather(points, measured, &sorting, order, scratch, in_runs);
    free(in_runs);
    free(order);
    free(coarse);
    free(scratch);
    return err;
}

void spex_points_free(struct spex_points *points) {
    free(points->parameters);
    free(points->times);
    free(points->rows);
    free(points->variances);
    free(points->few);
    *points = (struct spex_points){.count = 0};
}
