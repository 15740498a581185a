/* SPDX-License-Identifier: MIT */
/* Statistics of weighted values of one kind, such as the ticks of a probe's executions: moments,
 * extremes, a histogram, and the sums from which their margins are estimated. Callers lock. */
#ifndef SPEX_STATS_VALUES_H
#define SPEX_STATS_VALUES_H

#include <stdint.h>

#include "stats/histogram.h"
#include "stats/variance.h"

struct spex_values {
    struct spex_variance spread;
    double weight;
    double mean;
    double squares; /* weighted sum of squared distances from the mean */
    double min;     /* infinite where there are no values, as is `max` */
    double max;
    uint64_t left_out; /* values that are infinite or no numbers, which are in none of the above */
    struct spex_histogram histogram;
};

/* Makes `values` an empty set. */
void spex_values_clear(struct spex_values *values);

/* Subtracts `before`, a copy of the same values at an earlier time. The extremes of the rest come
 * from the histogram, to its resolution. */
void spex_values_subtract(struct spex_values *values, const struct spex_values *before);

/* Sets `out` to `values` with the weights of lost executions added: `losses` holds the same values
 * with the weight of the lost executions that each stands for, of which `factor` (0 to 1) counts.
 * Its spread describes both sets together. `losses` may be NULL. */
void spex_values_weigh(struct spex_values *out, const struct spex_values *values,
                       const struct spex_values *losses, double factor);

/* Has the histogram and the spread stand for the values of a scale (scale.h) that is no narrower. */
void spex_values_widen(struct spex_values *values, unsigned scale);

/* Adds a finite number to the histogram and the extremes alone. */
void spex_values_count(struct spex_values *values, double number, uint64_t weight);

/* Adds other values' histogram, extremes and what is left out, in the wider one of both scales. */
void spex_values_merge(struct spex_values *values, const struct spex_values *more);

/* The standard deviation; 0 where there are no values. */
double spex_values_deviation(const struct spex_values *values);

/* The q-quantile (q from 0 to 1), never outside of the extremes; 0 where there are no values; NAN:
 * the histogram does not tell (scale.h). */
double spex_values_quantile(const struct spex_values *values, double q);

#endif
