/* SPDX-License-Identifier: MIT */
/* Values of one kind, such as the ticks of a probe's executions, each with a weight: moments, extremes and
 * a histogram. */
#ifndef SPEX_VALUES_H
#define SPEX_VALUES_H

#include <stdint.h>

#include "histogram.h"

struct spex_values {
    double weight;
    double mean;
    double squares; /* weighted sum of squared distances from the mean */
    uint64_t min;   /* UINT64_MAX where there is none */
    uint64_t max;
    /* Where executions are recorded in bursts, which are much alike within: sums over bursts of their weights and
     * weighted distances from `origin`, squared and multiplied. */
    double origin;
    double bursts;          /* ended; 0: there were none */
    double burst_distances; /* squared */
    double burst_products;
    double burst_weights; /* squared */
    double distance;      /* of the burst that goes on */
    double burst_weight;
    struct spex_histogram histogram;
};

/* A burst begins. */
void spex_values_burst(struct spex_values *values);

/* A value of it, which is in the moments and the histogram already. */
void spex_values_in_burst(struct spex_values *values, uint64_t value, double weight);

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
