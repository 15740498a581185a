/* SPDX-License-Identifier: MIT */
#include "budget_estimate.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>

#define TRIMMED 0.1 /* at each end */
#define NORMAL  1.96

static int ascending(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double block_slowdown(const struct budget_pair *pairs) {
    double with = 0, without = 0;
    for (size_t p = 0; p < BUDGET_BLOCK_PAIRS; p++) {
        with += pairs[p].with;
        without += pairs[p].without;
    }
    return with / without - 1;
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

/* Of sorted values. */
static struct budget_estimate trimmed(double *values, size_t count) {
    size_t cut = (size_t)(TRIMMED * (double)count), left = count - 2 * cut;
    double mean = mean_of(values + cut, left);
    for (size_t v = 0; v < cut; v++) {
        values[v] = values[cut];
        values[count - 1 - v] = values[count - 1 - cut];
    }
    double deviation = deviation_of(values, count);
    double error = deviation * sqrt((double)count) / (double)left;
    return (struct budget_estimate){mean, NORMAL * error, deviation};
}

struct budget_estimate budget_estimate(const struct budget_pair *pairs, size_t count) {
    size_t blocks = count / BUDGET_BLOCK_PAIRS;
    double *values = malloc(blocks * sizeof(*values));
    if (!values)
        err(1, "malloc");
    for (size_t b = 0; b < blocks; b++)
        values[b] = block_slowdown(pairs + b * BUDGET_BLOCK_PAIRS);
    qsort(values, blocks, sizeof(*values), ascending);
    struct budget_estimate estimate = trimmed(values, blocks);
    free(values);
    return estimate;
}
