/* SPDX-License-Identifier: MIT */
/* A radial design for sensitivity analysis: from a base configuration, one neighbour for each
 * parameter, which differs in that parameter alone; then the same from another base, as often as
 * the budget allows (Campolongo, Saltelli and Cariboni, From Screening to Quantitative Sensitivity
 * Analysis, 2011). Results do not change the design; src/explore/findings/sensitivity.h analyses
 * them. */
#include "policies/explore/effort.h"
#include "policies/explore/search.h"

struct sensitivity {
    struct spex_search search;
    uint64_t effort;  /* runs, as far as time does not matter */
    uint64_t budget;  /* runs, as far as is known */
    size_t *base;     /* levels of the base */
    size_t *other;    /* levels that the neighbours take */
    size_t parameter; /* parameter of the next neighbour; parameter_count: a new base is needed */
};

static size_t sensitivity_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct sensitivity);
}

static void sensitivity_fini(void *state) {
    struct sensitivity *sensitivity = state;
    spex_search_free(&sensitivity->search);
    free(sensitivity->base);
    free(sensitivity->other);
}

static int sensitivity_init(void *state, const struct spex_space *space) {
    struct sensitivity *sensitivity = state;
    *sensitivity = (struct sensitivity){.parameter = space->parameter_count};
    spex_search_init(&sensitivity->search, space);
    sensitivity->search.design = true;
    sensitivity->base = calloc(space->parameter_count, sizeof(size_t));
    sensitivity->other = calloc(space->parameter_count, sizeof(size_t));
    if (!sensitivity->base || !sensitivity->other) {
        sensitivity_fini(sensitivity);
        return -ENOMEM;
    }
    sensitivity->effort = sensitivity->budget =
        spex_effort(space, spex_configurations_distinct(space, sensitivity->base));
    return 0;
}

static uint64_t sensitivity_runs(const void *state) {
    return ((const struct sensitivity *)state)->budget;
}

/* Chooses a base that was not run yet. The configuration that gives the neighbours their levels
 * need not be allowed as a whole. */
static bool sensitivity_next_base(struct sensitivity *sensitivity, size_t *levels) {
    struct spex_search *search = &sensitivity->search;
    if (!spex_search_untried(search, levels))
        return false;
    memcpy(sensitivity->base, levels, search->space->parameter_count * sizeof(*levels));
    spex_lattice_point(&search->lattice, sensitivity->other);
    sensitivity->parameter = 0;
    return true;
}

/* Sets `levels` to the base with another level of parameter `p`: the other configuration's, or the
 * next one that is allowed. False when the parameter does not apply or no such level is found. */
static bool sensitivity_neighbour(struct sensitivity *sensitivity, size_t p, size_t *levels) {
    const struct spex_space *space = sensitivity->search.space;
    size_t bytes = space->parameter_count * sizeof(*levels), count = space->parameters[p].count;
    for (size_t i = 0; i < count && i < 16; i++) {
        memcpy(levels, sensitivity->base, bytes);
        levels[p] = (sensitivity->other[p] + i) % count;
        if (spex_space_settle(space, levels) && memcmp(levels, sensitivity->base, bytes) != 0)
            return true;
    }
    return false;
}

static int sensitivity_choose(void *state, struct spex_plan *plan) {
    struct sensitivity *sensitivity = state;
    while (sensitivity->parameter < sensitivity->search.space->parameter_count)
        if (sensitivity_neighbour(sensitivity, sensitivity->parameter++, plan->levels))
            return 1;
    return sensitivity_next_base(sensitivity, plan->levels);
}

static int sensitivity_next(void *state, struct spex_plan *plan) {
    struct sensitivity *sensitivity = state;
    sensitivity->budget = spex_effort_now(sensitivity->search.space, plan, sensitivity->effort);
    return spex_search_next(sensitivity, sensitivity->budget, plan, sensitivity_choose);
}

SPEX_POLICY(sensitivity) = {
    SPEX_POLICY_NAMED("sensitivity",
                      "what tells which parameters matter, not which configuration is best"),
    .state_size = sensitivity_state_size,
    .init = sensitivity_init,
    .next = sensitivity_next,
    .runs = sensitivity_runs,
    .run_finished = spex_search_run_finished,
    .fini = sensitivity_fini,
};
