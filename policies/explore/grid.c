/* SPDX-License-Identifier: MIT */
/* Exhaustive search: every configuration in a random order; after all of them have had a trial, all
 * again in another order, until each has had rules.trials_per_config trials. The trials of one
 * configuration are therefore far apart in time: a drift of the machine shows as variance, and does
 * not favour some configurations. Then finals: in what the rounds leave of the runs that are given; or,
 * where none are given, of so many runs in all that they have their share. */
#include "policies/explore/effort.h"
#include "policies/explore/search.h"

struct grid {
    struct spex_search search;
    struct spex_order order; /* of the current round */
    uint64_t round;
    uint64_t place;   /* next place in the order */
    uint64_t planned; /* runs in all rounds */
    uint64_t
        distinct; /* distinct configurations; in a large space an upper bound until all were run */
    uint64_t budget; /* runs, as far as is known */
};

static size_t grid_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct grid);
}

static void grid_begin_round(struct grid *grid) {
    const struct spex_space *space = grid->search.space;
    grid->place = 0;
    grid->order = spex_order_of(spex_space_configurations(space),
                                space->rules.seed * 0x9e3779b97f4a7c15u + grid->round);
}

/* Sets how many runs there are, and when finals begin. Rounds that fit are all run, unless their share was
 * given to finals. `trials`: for which there is time; 0: that does not matter. */
static void grid_set_budget(struct grid *grid, uint64_t trials) {
    const struct spex_space *space = grid->search.space;
    const struct spex_rules *rules = &space->rules;
    uint64_t rounds = grid->distinct * spex_effort_repeats(space), given = rules->trials_max;
    if (trials && (!given || trials < given))
        given = trials;
    uint64_t all = given ? given : (uint64_t)ceil((double)rounds / (1 - spex_finals_share(rules)));
    bool races = all > rounds && spex_finals_apply(space) &&
                 spex_finals_are_worth(rules, (double)(all - rounds));
    grid->budget = all < rounds || races ? all : rounds;
    spex_finals_after(&grid->search.stage, rules, rules->finals > 0 || all < rounds ? 0 : rounds,
                      grid->budget);
}

/* Counts the distinct configurations, where that is quick; in other spaces grid_runs returns an
 * upper bound. */
static int grid_init(void *state, const struct spex_space *space) {
    struct grid *grid = state;
    *grid = (struct grid){.round = 0};
    spex_search_init(&grid->search, space);
    grid->search.design = true;
    grid_begin_round(grid);
    grid->distinct = grid->order.count;
    if (space->settle && grid->distinct <= SPEX_CONFIGURATIONS_COUNTED) {
        size_t *levels = calloc(space->parameter_count, sizeof(*levels));
        if (!levels)
            return -ENOMEM;
        grid->distinct = spex_configurations_distinct(space, levels);
        free(levels);
    }
    grid_set_budget(grid, 0);
    return 0;
}

static uint64_t grid_runs(const void *state) {
    return ((const struct grid *)state)->budget;
}

static int grid_choose(void *state, struct spex_plan *plan) {
    struct grid *grid = state;
    while (grid->round < spex_effort_repeats(grid->search.space)) {
        if (grid->place == grid->order.count) {
            if (!grid->planned)
                return 0;
            grid->distinct = grid->round ? grid->distinct : grid->planned;
            grid->round++;
            grid_begin_round(grid);
            continue;
        }
        uint64_t number = spex_order_at(&grid->order, grid->place++);
        if (spex_configuration_is_distinct(grid->search.space, number, plan->levels)) {
            grid->planned++;
            return 1;
        }
    }
    return 0;
}

static int grid_next(void *state, struct spex_plan *plan) {
    struct grid *grid = state;
    grid_set_budget(grid, plan->trials);
    return spex_search_next(grid, grid->budget, plan, grid_choose);
}

static void grid_fini(void *state) {
    spex_search_free(&((struct grid *)state)->search);
}

SPEX_POLICY(grid) = {
    SPEX_POLICY_NAMED("grid", "every configuration of the space; then finals"),
    .state_size = grid_state_size,
    .init = grid_init,
    .next = grid_next,
    .stop_run = spex_search_stop_run,
    .runs = grid_runs,
    .run_finished = spex_search_run_finished,
    .fini = grid_fini,
};
