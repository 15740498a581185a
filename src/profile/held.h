/* SPDX-License-Identifier: MIT */
/* Executions of a probe that were not counted, since a budget held it off or polled it: between two
 * profiles, and at a moment between them. A profile has an estimate of all of them so far, and how
 * far that may be off; or, while slices of the time do not tell, only how many there may have been
 * at most. Then a later profile may tell of the earlier time, too. */
#ifndef SPEX_PROFILE_HELD_H
#define SPEX_PROFILE_HELD_H

#include "profile/profile.h"

/* Sets `held_count` and `uncounted` of a probe to those since `before`, of the same probe. Its times
 * are still those so far. */
void spex_held_since(struct spex_profile_probe *probe, const struct spex_profile_probe *before);

/* Sets them, of a probe at a profile, to those at a moment between that and `first`, when `part` of
 * the time from there had passed. */
void spex_held_between(struct spex_profile_probe *probe, const struct spex_profile_probe *first,
                       double part);

/* Adds those of another process's probe, before the counts of both are added. Bounds are added, as they may be off in
 * one direction in all. */
void spex_held_add(struct spex_profile_probe *sum, const struct spex_profile_probe *more);

#endif
