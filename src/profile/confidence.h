/* SPDX-License-Identifier: MIT */
/* How far figures that come of sampled records may lie from those of all executions: intervals that
 * hold the truth in 95 % of cases. Records are taken for a random sample of the executions; where
 * they come in bursts, bursts are. */
#ifndef SPEX_PROFILE_CONFIDENCE_H
#define SPEX_PROFILE_CONFIDENCE_H

#include <stdbool.h>

#include "profile/profile.h"

/* Whether records stand for more executions than themselves. */
bool spex_sampled(const struct spex_profile_probe *probe);

/* How far the count may be off: 0 where each execution was counted. */
double spex_count_margin(const struct spex_profile_probe *probe);

/* A mean's distance from the truth at most; negative: there is no telling. */
double spex_mean_margin(const struct spex_profile_probe *probe, const struct spex_values *values);

/* Between which values the q-quantile lies; false: there is no telling. */
bool spex_quantile_bounds(const struct spex_profile_probe *probe, const struct spex_values *values,
                          double q, double *low, double *high);
#endif
