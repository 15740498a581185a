/* SPDX-License-Identifier: MIT */
/* How many runs a policy gives itself that could go on for ever. */
#ifndef SPEX_POLICIES_EXPLORE_EFFORT_H
#define SPEX_POLICIES_EXPLORE_EFFORT_H

#include <spex/policy.h>

/* Of what brute force takes. */
#define SPEX_EFFORT_SHARE 0.18

/* A space of no more is small enough to try it all. */
#define SPEX_EFFORT_SMALL 30

/* Parameters that have a choice. */
SPEX_INLINE size_t spex_effort_dimensions(const struct spex_space *space) {
    size_t count = 0;
    for (size_t p = 0; p < space->parameter_count; p++)
        count += space->parameters[p].count > 1;
    return count;
}

SPEX_INLINE uint64_t spex_effort_repeats(const struct spex_space *space) {
    return space->rules.trials_per_config ? space->rules.trials_per_config : 1;
}

/* A share of brute force's runs. In a space so large that this would be no saving, as many as a model of so
 * many dimensions is known to make use of. */
static inline uint64_t spex_effort(const struct spex_space *space, uint64_t standing) {
    double all = (double)standing * (double)spex_effort_repeats(space);
    double most = 100 * (double)(spex_effort_dimensions(space) + 1),
           trials = SPEX_EFFORT_SHARE * all;
    if (space->rules.trials_max)
        return space->rules.trials_max;
    most = fmin(fmax(most, 400), 1000);
    trials = fmax(fmin(trials, most), fmin(all, 40));
    return standing <= SPEX_EFFORT_SMALL ? (uint64_t)fmin(all, most) : (uint64_t)trials;
}

#endif
