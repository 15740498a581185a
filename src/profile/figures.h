/* SPDX-License-Identifier: MIT */
/* What is told of one series of a row's values: figures with their 95 % intervals, in the unit of
 * the values. */
#ifndef SPEX_PROFILE_FIGURES_H
#define SPEX_PROFILE_FIGURES_H

#include <stdbool.h>

#include "profile/profile.h"

/* The quantiles that are told. */
enum {
    SPEX_FIGURES_P50,
    SPEX_FIGURES_P90,
    SPEX_FIGURES_P99,
    SPEX_FIGURES_P999,
    SPEX_FIGURES_QUANTILES
};

extern const double spex_figures_quantiles[SPEX_FIGURES_QUANTILES];

struct spex_quantile {
    double value, low, high;
    bool told; /* whether the bounds are known */
};

struct spex_figures {
    bool any;     /* there are values; else there are no figures */
    bool sampled; /* the records do not hold all executions */
    /* The time that an empty span reads: all figures are without it, and intervals have its error. */
    double empty;
    /* The mean time of the probes within an execution: all figures are without it, too. 0: nothing,
     * or it is not known. */
    double nested;
    /* Its 95 % margin, which is in intervals. */
    double nested_margin;
    double mean;
    double mean_margin; /* negative: not known */
    struct spex_quantile quantiles[SPEX_FIGURES_QUANTILES];
    double min, max;
    /* Records whose value is infinite or no number: it is in no figure. */
    uint64_t left_out;
    /* Over all executions, and no more than the time of all threads; NAN: the records do not
     * tell. */
    double total;
    double total_margin; /* negative: not known */
};

/* Fills in the figures of one series of the row: `series` is less than row->probe.series. */
void spex_figures_of(const struct spex_profile *profile, const struct spex_profile_row *row,
                     unsigned series, struct spex_figures *figures);

/* Divides the values of a series among ranges: weights[i] gets the weight of those up to bounds[i],
 * but not up to bounds[i - 1], and weights[count] that of those above all bounds. Values are as in
 * figures: with what was lost, without what an empty span and the probes within take. Bounds are in
 * the unit of the values and grow. Returns the sum of the values, by their weights. */
double spex_figures_divide(const struct spex_profile *profile, const struct spex_profile_row *row,
                           unsigned series, const double *bounds, size_t count, double *weights);

/* A time in ticks, without what an empty span and the probes within take. */
double spex_figures_corrected(const struct spex_profile *profile,
                              const struct spex_profile_probe *probe, double ticks);

#endif
