/* SPDX-License-Identifier: MIT */
/* A radial design for sensitivity analysis: from a base configuration, one neighbour for each
 * parameter, which differs in that parameter alone; then the same from another base, as often as
 * the budget allows (Campolongo, Saltelli and Cariboni, From Screening to Quantitative Sensitivity
 * Analysis, 2011). Results do not change the design; src/explore/findings/sensitivity.h analyses
 * them. */
#include "policies/explore/effort.h"
#include "policies/explore/lattice.h"

struct sensitivity {
    const struct spex_space *space;
    struct spex_lattice lattice;
    struct spex_results results;
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
    spex_results_free(&sensitivity->results);
    free(sensitivity->base);
    free(sensitivity->other);
}

static int sensitivity_init(void *state, const struct spex_space *space) {
    struct sensitivity *sensitivity = state;
    *sensitivity = (struct sensitivity){
        .space = space, .results = {.space = space}, .parameter = space->parameter_count};
    sensitivity->base = calloc(space->parameter_count, sizeof(size_t));
    sensitivity->other = calloc(space->parameter_count, sizeof(size_t));
    if (!sensitivity->base || !sensitivity->other) {
        sensitivity_fini(sensitivity);
        return -ENOMEM;
    }
    spex_lattice_init(&sensitivity->lattice, space);
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
    if (!spex_lattice_next(&sensitivity->lattice, &sensitivity->results, levels))
        return false;
    memcpy(sensitivity->base, levels, sensitivity->space->parameter_count * sizeof(*levels));
    spex_lattice_point(&sensitivity->lattice, sensitivity->other);
    sensitivity->parameter = 0;
    return true;
}

/* Sets `levels` to the base with another level of parameter `p`: the other configuration's, or the
 * next one that is allowed. False when the parameter does not apply or no such level is found. */
static bool sensitivity_neighbour(struct sensitivity *sensitivity, size_t p, size_t *levels) {
    const struct spex_space *space = sensitivity->space;
    size_t bytes = space->parameter_count * sizeof(*levels), count = space->parameters[p].count;
    for (size_t i = 0; i < count && i < 16; i++) {
        memcpy(levels, sensitivity->base, bytes);
        levels[p] = (sensitivity->other[p] + i) % count;
        if (spex_space_settle(space, levels) && memcmp(levels, sensitivity->base, bytes) != 0)
            return true;
    }
    return false;
}

static bool sensitivity_choose(struct sensitivity *sensitivity, size_t *levels) {
    while (sensitivity->parameter < sensitivity->space->parameter_count)
        if (sensitivity_neighbour(sensitivity, sensitivity->parameter++, levels))
            return true;
    return sensitivity_next_base(sensitivity, levels);
}

static int sensitivity_next(void *state, struct spex_plan *plan) {
    struct sensitivity *sensitivity = state;
    sensitivity->budget = spex_effort_now(sensitivity->space, plan, sensitivity->effort);
    if (sensitivity->results.planned >= sensitivity->budget ||
        !sensitivity_choose(sensitivity, plan->levels))
        return 0;
    int err = spex_results_plan(&sensitivity->results, plan->levels);
    return err ? err : 1;
}

SPEX_POLICY(sensitivity) = {
    SPEX_POLICY_NAMED("sensitivity",
                      "what tells which parameters matter, not which configuration is best"),
    .state_size = sensitivity_state_size,
    .init = sensitivity_init,
    .next = sensitivity_next,
    .runs = sensitivity_runs,
    .fini = sensitivity_fini,
};
