/* SPDX-License-Identifier: MIT */
/* Exhaustive search: every configuration in a random order; after all of them have had a trial, all
 * again in another order, until each has had rules.trials_per_config trials. The trials of one
 * configuration are therefore far apart in time: a drift of the machine shows as variance, and does
 * not favour some configurations. */
#include <stdlib.h>

#include "policies/explore/configurations.h"
#include "policies/explore/effort.h"
#include "policies/explore/enough.h"

struct grid {
    const struct spex_space *space;
    struct spex_enough enough;
    struct spex_order order; /* of the current round */
    uint64_t round;
    uint64_t place;    /* next place in the order */
    uint64_t planned;  /* runs in all rounds */
    uint64_t distinct; /* distinct configurations; in a large space an upper bound */
};

static size_t grid_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct grid);
}

static void grid_begin_round(struct grid *grid) {
    grid->place = 0;
    grid->order = spex_order_of(spex_space_configurations(grid->space),
                                grid->space->rules.seed * 0x9e3779b97f4a7c15u + grid->round);
}

/* Counts the distinct configurations, where that is quick; in other spaces grid_runs returns an
 * upper bound. */
static int grid_init(void *state, const struct spex_space *space) {
    struct grid *grid = state;
    *grid = (struct grid){.space = space};
    grid_begin_round(grid);
    grid->distinct = grid->order.count;
    if (!space->settle || grid->distinct > SPEX_CONFIGURATIONS_COUNTED)
        return 0;
    size_t *levels = calloc(space->parameter_count, sizeof(*levels));
    if (!levels)
        return -ENOMEM;
    grid->distinct = spex_configurations_distinct(space, levels);
    free(levels);
    return 0;
}

static uint64_t grid_runs(const void *state) {
    const struct grid *grid = state;
    uint64_t runs = grid->distinct * spex_effort_repeats(grid->space),
             most = grid->space->rules.trials_max;
    return most && most < runs ? most : runs;
}

static int grid_next(void *state, struct spex_plan *plan) {
    struct grid *grid = state;
    uint64_t most = grid->space->rules.trials_max;
    while (grid->round < spex_effort_repeats(grid->space) && (!most || grid->planned < most)) {
        if (grid->place == grid->order.count) {
            if (!grid->planned)
                return 0;
            grid->round++;
            grid_begin_round(grid);
            continue;
        }
        uint64_t number = spex_order_at(&grid->order, grid->place++);
        if (spex_configuration_is_distinct(grid->space, number, plan->levels)) {
            grid->planned++;
            return 1;
        }
    }
    return 0;
}

static bool grid_stop_run(void *state, const struct spex_run *run) {
    const struct grid *grid = state;
    return spex_enough_run(&grid->enough, grid->space, run);
}

static void grid_run_finished(void *state, const struct spex_result *result) {
    struct grid *grid = state;
    spex_enough_learn(&grid->enough, grid->space, result);
}

SPEX_POLICY(grid) = {
    SPEX_POLICY_NAMED("grid", "every configuration of the space"),
    .state_size = grid_state_size,
    .init = grid_init,
    .next = grid_next,
    .stop_run = grid_stop_run,
    .runs = grid_runs,
    .run_finished = grid_run_finished,
};
