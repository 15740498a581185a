/* SPDX-License-Identifier: MIT */
/* Configurations that fill the space evenly, each once; then all of these again, until each has had
 * rules.trials_per_config trials. */
#include "policies/explore/effort.h"
#include "policies/explore/enough.h"
#include "policies/explore/lattice.h"

struct random {
    const struct spex_space *space;
    struct spex_results results;
    struct spex_enough enough;
    struct spex_lattice lattice;
    uint64_t budget;  /* runs */
    uint64_t configs; /* different configurations */
};

static size_t random_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct random);
}

static int random_init(void *state, const struct spex_space *space) {
    struct random *random = state;
    size_t *levels = calloc(space->parameter_count, sizeof(*levels));
    uint64_t repeats = spex_effort_repeats(space);
    if (!levels)
        return -ENOMEM;
    *random = (struct random){.space = space, .results = {.space = space}};
    spex_lattice_init(&random->lattice, space);
    random->budget = spex_effort(space, spex_configurations_distinct(space, levels));
    random->configs = random->budget < repeats ? 1 : random->budget / repeats;
    free(levels);
    return 0;
}

static uint64_t random_runs(const void *state) {
    return ((const struct random *)state)->budget;
}

/* Sets `levels` to the next configuration; false when every one has had its trials. The estimated
 * number of configurations is corrected when the space turns out to have fewer. */
static bool random_choose(struct random *random, size_t *levels) {
    if (random->results.count < random->configs) {
        if (spex_lattice_next(&random->lattice, &random->results, levels))
            return true;
        random->configs = random->results.count;
    }
    if (!random->configs ||
        random->results.planned >= random->configs * spex_effort_repeats(random->space))
        return false;
    memcpy(levels, spex_results_levels(&random->results, random->results.planned % random->configs),
           random->space->parameter_count * sizeof(*levels));
    return true;
}

static int random_next(void *state, struct spex_plan *plan) {
    struct random *random = state;
    if (random->results.planned >= random->budget || !random_choose(random, plan->levels))
        return 0;
    int err = spex_results_plan(&random->results, plan->levels);
    return err ? err : 1;
}

static bool random_stop_run(void *state, const struct spex_run *run) {
    const struct random *random = state;
    return spex_enough_run(&random->enough, random->space, run);
}

static void random_run_finished(void *state, const struct spex_result *result) {
    struct random *random = state;
    spex_enough_learn(&random->enough, random->space, result);
}

static void random_fini(void *state) {
    spex_results_free(&((struct random *)state)->results);
}

SPEX_POLICY(random) = {
    SPEX_POLICY_NAMED("random", "configurations spread evenly over the space"),
    .state_size = random_state_size,
    .init = random_init,
    .next = random_next,
    .stop_run = random_stop_run,
    .runs = random_runs,
    .run_finished = random_run_finished,
    .fini = random_fini,
};
