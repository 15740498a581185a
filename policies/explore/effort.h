/* SPDX-License-Identifier: MIT */
/* The number of runs that a policy plans when the rules do not bound it. */
#ifndef SPEX_POLICIES_EXPLORE_EFFORT_H
#define SPEX_POLICIES_EXPLORE_EFFORT_H

#include <spex/policy.h>

/* The share of the runs that trying every configuration takes. */
#define SPEX_EFFORT_SHARE 0.18

/* A space of at most so many configurations is tried completely. */
#define SPEX_EFFORT_SMALL 30

/* The number of parameters that have more than one level. */
SPEX_INLINE size_t spex_effort_dimensions(const struct spex_space *space) {
    size_t count = 0;
    for (size_t p = 0; p < space->parameter_count; p++)
        count += space->parameters[p].count > 1;
    return count;
}

/* Trials of each configuration that the rules ask for, at least 1. */
SPEX_INLINE uint64_t spex_effort_repeats(const struct spex_space *space) {
    return space->rules.trials_per_config ? space->rules.trials_per_config : 1;
}

/* The number of runs as it is now: those for which there is time by the host's clock, if it tells,
 * at most as many as the rules have; else `effort`, that of spex_effort. */
SPEX_INLINE uint64_t spex_effort_now(const struct spex_space *space, const struct spex_plan *plan,
                                     uint64_t effort) {
    uint64_t most = space->rules.trials_max;
    if (!plan->trials)
        return effort;
    return most && most < plan->trials ? most : plan->trials;
}

/* The number of runs, given the number of distinct configurations: rules.trials_max if it is set;
 * else SPEX_EFFORT_SHARE of all runs, at least 40 and at most 400 to 1000, by the number of
 * dimensions, since a model of so many dimensions does not profit from more. Also at least 40 and
 * all runs in a space of SPEX_EFFORT_SMALL configurations. */
static inline uint64_t spex_effort(const struct spex_space *space, uint64_t distinct) {
    double all = (double)distinct * (double)spex_effort_repeats(space);
    double most = 100 * (double)(spex_effort_dimensions(space) + 1),
           trials = SPEX_EFFORT_SHARE * all;
    if (space->rules.trials_max)
        return space->rules.trials_max;
    most = fmin(fmax(most, 400), 1000);
    trials = fmax(fmin(trials, most), fmin(all, 40));
    return distinct <= SPEX_EFFORT_SMALL ? (uint64_t)fmin(fmax(all, 40), most) : (uint64_t)trials;
}

#endif
