/* SPDX-License-Identifier: MIT */
/* What the policies that search for the best configuration have in common: the results so far, the
 * losses that they compare, and what ends a run early. A policy's state begins with it, so that the
 * functions for struct spex_policy_ops can be the same for all. */
#ifndef SPEX_POLICIES_EXPLORE_SEARCH_H
#define SPEX_POLICIES_EXPLORE_SEARCH_H

#include "policies/explore/enough.h"
#include "policies/explore/lattice.h"
#include "policies/explore/race.h"

struct spex_search {
    const struct spex_space *space;
    struct spex_results results;
    struct spex_loss loss;
    struct spex_enough enough;
    struct spex_lattice lattice;
    struct spex_draw draw;
};

static inline void spex_search_init(struct spex_search *search, const struct spex_space *space) {
    *search = (struct spex_search){.space = space, .results = {.space = space}};
    search->draw.state = spex_draw_mix(space->rules.seed);
    spex_loss_init(&search->loss, space);
    spex_lattice_init(&search->lattice, space);
}

/* The levels of the configuration to repeat; false when no repeat is needed. */
static inline bool spex_search_repeat(struct spex_search *search, uint64_t budget, size_t *levels) {
    return spex_race_repeat(&search->loss, &search->results, &search->draw, budget, levels);
}

/* stop_run of a policy whose state begins with a struct spex_search. */
static inline bool spex_search_stop_run(void *state, const struct spex_run *run) {
    const struct spex_search *search = state;
    return spex_enough_run(&search->enough, search->space, run);
}

/* run_finished of a policy whose state begins with a struct spex_search. */
static inline void spex_search_run_finished(void *state, const struct spex_result *result) {
    struct spex_search *search = state;
    spex_enough_learn(&search->enough, search->space, result);
    spex_results_finish(&search->results, result);
}

#endif
