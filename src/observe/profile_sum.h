/* SPDX-License-Identifier: MIT */
/* The sum of the profiles of several processes of one program, and what has happened between two
 * profiles. Histograms merge exactly: quantiles
 * are those of all records put together. Executions, records and their weights are added, as are
 * the variances from which margins follow, since processes are sampled independently. */
#ifndef SPEX_OBSERVE_PROFILE_SUM_H
#define SPEX_OBSERVE_PROFILE_SUM_H

#include <stdbool.h>

#include "profile/profile.h"

/* Adds a profile to the sum, which is empty (all zero) at first, and is freed by spex_profile_free.
 * Probes are the same by provider, name or id, and type; the numbers of probes are those of the
 * processes added first. The sites of all processes follow each other. Times that a probe was on
 * are added, and are more than the time that has passed, so that spex_profile_since can tell the
 * difference of two sums; the process's seconds are the longest. 0, or -ENOMEM with the sum
 * incomplete. */
int spex_profile_add(struct spex_profile *sum, const struct spex_profile *more);

/* Parts of that, for sums that are kept in another way: what is counted of a probe; moments of
 * values; and the sums of a variance, which are by their distances from `origin`. */
void spex_profile_probe_add(struct spex_profile_probe *sum, const struct spex_profile_probe *more);
void spex_values_join(struct spex_values *values, double weight, double mean, double squares);
void spex_variance_join(struct spex_variance *spread, double origin,
                        struct spex_variance_sums sums);

/* Sets `difference` to what has happened between two profiles of one process. Free it. 0 or
 * -ENOMEM. */
int spex_profile_since(const struct spex_profile *now, const struct spex_profile *before,
                       struct spex_profile *difference);

/* Returns whether they are of one probe, in whatever process. */
bool spex_profile_same_probe(const struct spex_profile_probe *one,
                             const struct spex_profile_probe *other);

/* Makes a sum, or a difference of sums, one of a program that has run for `seconds`: no probe was
 * on for longer, so that rates are those of all processes together. */
void spex_profile_settle(struct spex_profile *sum, double seconds);

#endif
