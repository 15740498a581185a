/* SPDX-License-Identifier: MIT */
/* What all policies have in common: the results so far, the losses that they compare, the finals, and what
 * ends a run early. A policy's state begins with it, so that the functions for struct spex_policy_ops can
 * be the same for all. */
#ifndef SPEX_POLICIES_EXPLORE_SEARCH_H
#define SPEX_POLICIES_EXPLORE_SEARCH_H

#include "policies/explore/enough.h"
#include "policies/explore/finals_stage.h"
#include "policies/explore/lattice.h"

struct spex_search {
    const struct spex_space *space;
    struct spex_results results;
    struct spex_loss loss;
    struct spex_enough enough;
    struct spex_lattice lattice;
    struct spex_draw draw;
    struct spex_finals_stage stage;
    bool design; /* results do not change what is run before finals, and nothing is run after it */
    bool refers; /* a reference configuration is repeated */
    size_t reference; /* the reference configuration + 1; 0: it is not chosen yet */
    bool referred;    /* it had a run as such */
};

static inline void spex_search_init(struct spex_search *search, const struct spex_space *space) {
    *search = (struct spex_search){.space = space, .results = {.space = space}};
    search->draw.state = spex_draw_mix(space->rules.seed);
    spex_loss_init(&search->loss, space);
    spex_lattice_init(&search->lattice, space);
}

SPEX_INLINE void spex_search_free(struct spex_search *search) {
    spex_results_free(&search->results);
    spex_finals_stage_free(&search->stage);
}

/* Sets `levels` to those of a configuration; false: it is SPEX_RESULTS_NONE. */
static inline bool spex_search_again(const struct spex_search *search, size_t config,
                                     size_t *levels) {
    if (config == SPEX_RESULTS_NONE)
        return false;
    memcpy(levels, spex_results_levels(&search->results, config),
           search->space->parameter_count * sizeof(*levels));
    return true;
}

/* Repeats what is left to settle where there is nothing to try any more: who is the best. Of limits and
 * several objectives it is not known when that is clear. */
static inline bool spex_search_settle(struct spex_search *search, size_t *levels) {
    const struct spex_results *results = &search->results;
    if (search->space->criterion_count > 1 || search->stage.on || spex_race_is_exact(results))
        return false;
    return spex_search_again(search, spex_race_unclear(&search->loss, results), levels);
}

/* The levels of the configuration to repeat; false when no repeat is needed. */
static inline bool spex_search_repeat(struct spex_search *search, uint64_t budget, size_t *levels) {
    return spex_race_repeat(&search->loss, &search->results, &search->draw, budget, levels);
}

/* A configuration that was not tried; false when there is none. */
static inline bool spex_search_untried(struct spex_search *search, size_t *levels) {
    return spex_lattice_next(&search->lattice, &search->results, levels);
}

/* What a budget is used for that a policy's search has left: repeats that tell the best from the
 * others, or, while none has succeeded or the best of those tried is clear, what was not tried. */
static inline bool spex_search_rest(struct spex_search *search, uint64_t budget, size_t *levels) {
    return spex_search_repeat(search, budget, levels) || spex_search_untried(search, levels);
}

/* The configuration with the least loss as measured; SPEX_RESULTS_NONE: none has a result. */
static inline size_t spex_search_least(struct spex_search *search) {
    const struct spex_results *results = &search->results;
    size_t least = SPEX_RESULTS_NONE;
    double loss = INFINITY;
    spex_loss_learn(&search->loss, results);
    for (size_t c = 0; c < results->count; c++)
        if (results->configs[c].trials && spex_loss_of(&search->loss, results, c) < loss) {
            loss = spex_loss_of(&search->loss, results, c);
            least = c;
        }
    return least;
}

/* Plans the early repeats by which the noise is measured: one of the first result and, when
 * `designed`, one of the best so far, as far as the budget is large enough for them. False: none is
 * due. */
static inline bool spex_search_measure(struct spex_search *search, uint64_t budget, bool designed,
                                       size_t *levels) {
    const struct spex_results *results = &search->results;
    uint64_t repeats = results->planned - results->count;
    if (repeats >= (designed ? SPEX_NOISE_REPEATS : 1) || budget < 4 * (repeats + 1))
        return false;
    size_t least = spex_search_least(search);
    return !spex_results_was_last(results, least) && spex_search_again(search, least, levels);
}

/* Of every so many runs one is of the reference configuration, so that drift of the machine can be
 * seen, in searches of so many runs: fewer would tell nothing. */
#define SPEX_REFERENCE_EVERY 16
#define SPEX_REFERENCE_RUNS  128

/* Whether a reference that is in finals has its runs there. */
SPEX_INLINE bool spex_search_races(const struct spex_search *search, size_t config) {
    size_t place = spex_finals_place(&search->stage, config);
    return search->stage.on && place != SPEX_FINALISTS_MAX && !search->stage.finals.out[place];
}

/* Plans a run of the reference configuration, if it had none for long. It is the best at first: so it
 * does not take longer than others, and is repeated anyway as long as it may be the best. */
static inline bool spex_search_refer(struct spex_search *search, uint64_t budget,
                                     struct spex_plan *plan) {
    const struct spex_results *results = &search->results;
    if (budget < SPEX_REFERENCE_RUNS || results->planned < SPEX_REFERENCE_EVERY ||
        spex_race_is_exact(results))
        return false;
    if (!search->reference)
        search->reference = spex_search_least(search) + 1; /* 0 again where there is none */
    if (!search->reference)
        return false;
    size_t config = search->reference - 1;
    uint64_t since = search->results.planned - results->configs[config].last;
    if (spex_search_races(search, config) || (search->referred && since < SPEX_REFERENCE_EVERY) ||
        spex_results_was_last(results, config))
        return false;
    search->referred = plan->reference = true;
    return spex_search_again(search, config, plan->levels);
}

/* Plans a second trial of the best as measured, if it is due: the budget's last trial, and there was
 * one only. What looks best after one trial may be luck, and may be the best. */
static inline bool spex_search_confirm(struct spex_search *search, uint64_t budget,
                                       size_t *levels) {
    const struct spex_results *results = &search->results;
    if (results->planned + 1 != budget || spex_race_is_exact(results))
        return false;
    size_t least = spex_search_least(search);
    return least != SPEX_RESULTS_NONE && results->configs[least].trials == 1 &&
           !results->configs[least].pending && spex_search_again(search, least, levels);
}

/* As spex_finals_next. Where nothing was repeated, early repeats come first: they tell whether the
 * objective is exact. */
static inline int spex_search_finals(struct spex_search *search, uint64_t budget,
                                     struct spex_plan *plan) {
    bool due = spex_finals_are_due(&search->stage, &search->results, budget, plan);
    if (due && spex_search_measure(search, budget, true, plan->levels))
        return 1;
    int got = spex_finals_next(&search->stage, &search->loss, &search->results, &search->draw,
                               budget, plan);
    /* Too many may be the best, or there are no finals, and `from` says so. */
    if (!got && search->design &&
        spex_finals_are_due(&search->stage, &search->results, budget, plan))
        got = spex_search_repeat(search, budget, plan->levels);
    return got;
}

/* Plans a policy's next run when there are no finals: 1; 0: it has none; -EAGAIN: results have to come
 * first; or another negative errno value. */
typedef int spex_search_choose(void *state, struct spex_plan *plan);

/* next() of a policy whose state begins with a struct spex_search, with so many runs in all. */
static inline int spex_search_next(void *state, uint64_t budget, struct spex_plan *plan,
                                   spex_search_choose *choose) {
    struct spex_search *search = state;
    if (search->results.planned >= budget)
        return 0;
    int got = search->refers && spex_search_refer(search, budget, plan);
    got = got ? got : spex_search_finals(search, budget, plan);
    got = got ? got : choose(state, plan);
    if (!got && spex_finals_hasten(&search->stage, &search->results, budget))
        got = spex_search_finals(search, budget, plan);
    if (!got && !search->design)
        got = spex_search_settle(search, plan->levels);
    if (got < 0 && got != -EAGAIN)
        return got;
    return spex_results_answer(&search->results, got > 0, plan->levels);
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
    size_t config = spex_results_finish(&search->results, result);
    spex_finals_take(&search->stage, config, result);
}

#endif
