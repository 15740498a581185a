/* SPDX-License-Identifier: MIT */
/* A design from which it can be told which parameter matters how much, and which together: from a configuration, one
 * other for each parameter that differs in it alone (Campolongo, Saltelli and Cariboni, From Screening to Quantitative
 * Sensitivity Analysis, 2011: a radial design), and so from as many configurations as there are runs. Results do not
 * change it; src/explore/sensitivity.h is what reads them. */
#include "policies/explore/effort.h"
#include "policies/explore/lattice.h"

struct sensitivity {
    const struct spex_space *space;
    struct spex_lattice lattice;
    struct spex_results results;
    uint64_t budget;
    size_t *base;     /* configuration */
    size_t *other;    /* where its neighbours have a parameter's level from */
    size_t parameter; /* that is changed next; parameter_count: another base */
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
    sensitivity->budget =
        spex_effort(space, spex_configurations_standing(space, sensitivity->base));
    return 0;
}

static uint64_t sensitivity_runs(const void *state) {
    return ((const struct sensitivity *)state)->budget;
}

/* Bases are new; where the levels of neighbours come from need not be allowed as a whole. */
static bool next_base(struct sensitivity *sensitivity, size_t *levels) {
    if (!spex_lattice_next(&sensitivity->lattice, &sensitivity->results, levels))
        return false;
    memcpy(sensitivity->base, levels, sensitivity->space->parameter_count * sizeof(*levels));
    spex_lattice_point(&sensitivity->lattice, sensitivity->other);
    sensitivity->parameter = 0;
    return true;
}

/* Differs from the base in one parameter that applies; from the other's level on, the first that is allowed. */
static bool neighbour(struct sensitivity *sensitivity, size_t p, size_t *levels) {
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

static bool choose(struct sensitivity *sensitivity, size_t *levels) {
    while (sensitivity->parameter < sensitivity->space->parameter_count)
        if (neighbour(sensitivity, sensitivity->parameter++, levels))
            return true;
    return next_base(sensitivity, levels);
}

static int sensitivity_next(void *state, struct spex_plan *plan) {
    struct sensitivity *sensitivity = state;
    if (sensitivity->results.planned >= sensitivity->budget || !choose(sensitivity, plan->levels))
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
