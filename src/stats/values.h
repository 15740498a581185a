/* SPDX-License-Identifier: MIT */
/* Values of one kind, such as the ticks of a probe's executions, each with a weight: moments, extremes,
 * a histogram, and how sure all of it is. */
#ifndef SPEX_STATS_VALUES_H
#define SPEX_STATS_VALUES_H

#include <stdint.h>

#include "stats/histogram.h"
#include "stats/variance.h"

struct spex_values {
    double weight;
    double mean;
    double squares; /* weighted sum of squared distances from the mean */
    uint64_t min;   /* UINT64_MAX where there is none */
    uint64_t max;
    struct spex_histogram histogram;
    struct spex_variance spread;
};

/* None yet. */
void spex_values_clear(struct spex_values *values);

/* Takes out what was in already when `before`, the same values at an earlier time, was copied. The extremes
 * of what stays are known from the histogram, to its resolution. */
void spex_values_subtract(struct spex_values *values, const struct spex_values *before);

double spex_values_deviation(const struct spex_values *values);

/* The value below which the share q (0 to 1) of the weight lies; never outside of the extremes; 0 where there
 * is none. */
double spex_values_quantile(const struct spex_values *values, double q);

#endif
