/* SPDX-License-Identifier: MIT */
/* Brute force: every configuration in turn, the last parameter fastest; when all have had a trial,
 * all again until each has had its number. So the trials of one configuration are far apart in
 * time, and whatever drifts meanwhile shows as spread instead of favouring some. */
#include <spex/policy.h>

struct grid {
    const struct spex_space *space;
    uint64_t planned;
};

static size_t grid_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct grid);
}

static int grid_init(void *state, const struct spex_space *space) {
    ((struct grid *)state)->space = space;
    return 0;
}

static uint64_t grid_runs(const void *state) {
    const struct spex_space *space = ((const struct grid *)state)->space;
    return spex_space_configurations(space) * space->rules.trials_per_config;
}

static int grid_next(void *state, struct spex_plan *plan) {
    struct grid *grid = state;
    if (grid->planned == grid_runs(state))
        return 0;
    uint64_t index = grid->planned++;
    for (size_t p = grid->space->parameter_count; p-- > 0;) {
        plan->levels[p] = index % grid->space->parameters[p].count;
        index /= grid->space->parameters[p].count;
    }
    return 1;
}

static bool grid_stop_run(void *state, const struct spex_run *run) {
    return run->threads_done >= spex_space_threads(((struct grid *)state)->space, run->levels);
}

SPEX_POLICY(grid) = {
    .size = sizeof(struct spex_policy_ops),
    .abi = SPEX_POLICY_ABI,
    .name = "grid",
    .summary = "every configuration of the space",
    .state_size = grid_state_size,
    .init = grid_init,
    .next = grid_next,
    .stop_run = grid_stop_run,
    .runs = grid_runs,
};
