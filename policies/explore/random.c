/* SPDX-License-Identifier: MIT */
/* Configurations that fill the space evenly, each once; then all of these again, until each has had
 * rules.trials_per_config trials; then finals, and what they leave is for other configurations. Without
 * finals the last trial is a second one of the best, if that had one. */
#include "policies/explore/effort.h"
#include "policies/explore/search.h"

struct random {
    struct spex_search search;
    uint64_t effort;  /* runs, as far as time does not matter */
    uint64_t budget;  /* runs, as far as is known */
    uint64_t configs; /* different configurations */
    bool all;         /* there are no others */
};

static size_t random_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct random);
}

static int random_init(void *state, const struct spex_space *space) {
    struct random *random = state;
    size_t *levels = calloc(space->parameter_count, sizeof(*levels));
    if (!levels)
        return -ENOMEM;
    *random = (struct random){.budget = 0};
    spex_search_init(&random->search, space);
    random->search.design = true;
    random->effort = random->budget =
        spex_effort(space, spex_configurations_distinct(space, levels));
    free(levels);
    return 0;
}

static uint64_t random_runs(const void *state) {
    return ((const struct random *)state)->budget;
}

/* Plans the next configuration; 0 when every one has had its trials. The estimated number of
 * configurations is corrected when the space turns out to have fewer. */
static int random_choose(void *state, struct spex_plan *plan) {
    struct random *random = state;
    struct spex_search *search = &random->search;
    struct spex_results *results = &search->results;
    if (spex_search_confirm(search, random->budget, plan->levels))
        return true;
    if (results->count < random->configs) {
        if (spex_search_untried(search, plan->levels))
            return true;
        random->configs = results->count;
        random->all = true;
    }
    if (results->planned < random->configs * spex_effort_repeats(search->space))
        return spex_search_again(search, results->planned % random->configs, plan->levels);
    return spex_search_untried(search, plan->levels);
}

/* How many runs there are, and until one was repeated, of how many configurations. */
static void random_spread(struct random *random, const struct spex_plan *plan) {
    const struct spex_results *results = &random->search.results;
    uint64_t repeats = spex_effort_repeats(results->space);
    random->budget = spex_effort_now(results->space, plan, random->effort);
    if (results->planned > results->count || random->all)
        return;
    uint64_t runs =
        spex_finals_apply(results->space)
            ? spex_finals_from(&random->search.stage, &results->space->rules, random->budget)
            : random->budget;
    runs = runs < random->budget ? runs : random->budget;
    random->configs = runs < repeats ? 1 : runs / repeats;
}

static int random_next(void *state, struct spex_plan *plan) {
    struct random *random = state;
    random_spread(random, plan);
    return spex_search_next(random, random->budget, plan, random_choose);
}

static void random_fini(void *state) {
    spex_search_free(&((struct random *)state)->search);
}

SPEX_POLICY(random) = {
    SPEX_POLICY_NAMED("random", "configurations spread evenly over the space; then finals"),
    .state_size = random_state_size,
    .init = random_init,
    .next = random_next,
    .stop_run = spex_search_stop_run,
    .runs = random_runs,
    .run_finished = spex_search_run_finished,
    .fini = random_fini,
};
