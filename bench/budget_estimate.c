/* SPDX-License-Identifier: MIT */
/* The estimate of the slowdown: budget_estimate.h explains it. */
#include "budget_estimate.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>

#include "base/student.h"

static int order_ascending(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double mean_of(const double *values, size_t count) {
    double sum = 0;
    for (size_t v = 0; v < count; v++)
        sum += values[v];
    return sum / (double)count;
}

static double deviation_of(const double *values, size_t count) {
    double mean = mean_of(values, count), sum = 0;
    for (size_t v = 0; v < count; v++)
        sum += (values[v] - mean) * (values[v] - mean);
    return sqrt(sum / (double)(count - 1));
}

/* Half of the interval of the midmean of values in ascending order, which it changes. */
static double midmean_ci95(double *sorted, size_t count) {
    size_t out = count / 4, left = count - 2 * out;
    for (size_t v = 0; v < out; v++) {
        sorted[v] = sorted[out];
        sorted[count - 1 - v] = sorted[count - 1 - out];
    }
    double share = (double)left / (double)count;
    double error = deviation_of(sorted, count) / (share * sqrt((double)count));
    return spex_student_95((double)left - 1) * error;
}

/* The midmean of the logarithms of the ratios beyond those that are believed. They are left in
 * `sorted`, in ascending order. */
static double midmean_beyond_belief(const struct budget_figure *figures, size_t count,
                                    double *sorted) {
    for (size_t f = 0; f < count; f++)
        sorted[f] = log(figures[f].with / figures[f].without) - log1p(figures[f].believed);
    qsort(sorted, count, sizeof(*sorted), order_ascending);
    return mean_of(sorted + count / 4, count - 2 * (count / 4));
}

static double mean_of_beliefs(const struct budget_figure *figures, size_t count) {
    double sum = 0;
    for (size_t f = 0; f < count; f++)
        sum += log1p(figures[f].believed);
    return sum / (double)count;
}

static double slowdown_of_sums(const struct budget_figure *figures, size_t count) {
    double with = 0, without = 0;
    for (size_t f = 0; f < count; f++) {
        with += figures[f].with;
        without += figures[f].without;
    }
    return with / without - 1;
}

struct budget_estimate budget_estimate(const struct budget_figure *figures, size_t count) {
    double *sorted = malloc(count * sizeof(*sorted));
    if (!sorted)
        err(1, "malloc");
    double ratio =
        exp(midmean_beyond_belief(figures, count, sorted) + mean_of_beliefs(figures, count));
    struct budget_estimate estimate = {
        .slowdown = ratio - 1,
        .of_sums = slowdown_of_sums(figures, count),
        .noise = (sorted[count * 3 / 4] - sorted[count / 4]) / 2,
    };
    estimate.ci95 = ratio * midmean_ci95(sorted, count);
    free(sorted);
    return estimate;
}
