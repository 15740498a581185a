/* SPDX-License-Identifier: MIT */
/* 95 % confidence intervals of figures that come from sampled records, against those of all
 * executions. Records, or bursts where they come in bursts, are taken for a random sample of the
 * executions. */
#ifndef SPEX_PROFILE_CONFIDENCE_H
#define SPEX_PROFILE_CONFIDENCE_H

#include <stdbool.h>

#include "profile/profile.h"

/* Whether records stand for more executions than themselves. */
bool spex_sampled(const struct spex_profile_probe *probe);

/* The margin of the count, of what was executed while the probe was selected; 0 where each
 * execution was counted, and INFINITY where a site of it was refused. */
double spex_count_margin(const struct spex_profile_probe *probe);

/* The margin of the executions in the time in which they were counted. */
double spex_counted_margin(const struct spex_profile_probe *probe);

/* Whether the count is more than a lower bound: its margin is not greater. */
bool spex_count_known(const struct spex_profile_probe *probe);

/* Whether the rate is known. That of the moments in which a budget had a probe on is none of the
 * program where the count is a bound: in these it was slower. While a probe is polled it is not. */
bool spex_rate_known(const struct spex_profile_probe *probe);

/* What is told of the executions: all of them, or, where that is not known, what there are at least. */
double spex_count_told(const struct spex_profile_probe *probe);

/* Whether of the rate only is known what it is at least; and what is told of it, which may be that. */
bool spex_rate_is_bound(const struct spex_profile_probe *probe);
double spex_rate_told(const struct spex_profile_probe *probe);

/* Why there is no margin. */
enum spex_margin_unknown {
    SPEX_FEW_RECORDS,
    SPEX_FEW_STRETCHES, /* between losses, in slices or in bursts: their records may be alike */
    SPEX_MOST_LOST,
    SPEX_MANY_LEFT_OUT,
    SPEX_LONG_SPANS_MISSING,
    SPEX_MARGIN_UNKNOWNS
};

/* Why a margin of the probe's values is not told, where it is not. */
enum spex_margin_unknown spex_margin_unknown(const struct spex_profile_probe *probe,
                                             const struct spex_values *values);

/* The margin of a mean; negative: it is not known. */
double spex_mean_margin(const struct spex_profile_probe *probe, const struct spex_values *values);

/* The bounds of the q-quantile; false: they are not known. */
bool spex_quantile_bounds(const struct spex_profile_probe *probe, const struct spex_values *values,
                          double q, double *low, double *high);
#endif
