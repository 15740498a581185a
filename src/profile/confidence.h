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

/* The margin of the executions a second. */
double spex_rate_margin(const struct spex_profile_probe *probe);

/* Whether the count is more than a lower bound: its margin is not greater. */
bool spex_count_known(const struct spex_profile_probe *probe);

/* Whether the rate is known. That of the moments in which a budget had a probe on is none of the
 * program where the count is a bound: in these it was slower. While a probe is polled it is not. */
bool spex_rate_known(const struct spex_profile_probe *probe);

/* The margin of a mean; negative: there are too few records to tell. */
double spex_mean_margin(const struct spex_profile_probe *probe, const struct spex_values *values);

/* The bounds of the q-quantile; false: there are too few records to tell. */
bool spex_quantile_bounds(const struct spex_profile_probe *probe, const struct spex_values *values,
                          double q, double *low, double *high);
#endif
