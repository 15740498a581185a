/* SPDX-License-Identifier: MIT */
/* Coordinate descent. The search stands at one configuration and tries others that differ from it
 * in one parameter, in steps that double as long as they bring an improvement. When no parameter
 * brings one, it starts again from another configuration. Two configurations that one trial each
 * does not tell apart have up to COMPARED trials; then the comparison is decided, so that noise
 * cannot hold the search up. The last fifth of the runs repeats the best configurations. */
#include "policies/explore/effort.h"
#include "policies/explore/search.h"

/* The share of the budget after which only the best configurations are repeated. */
#define CLIMBING 0.8

enum { COMPARED = 3 }; /* most trials of a configuration before a comparison is decided */

struct climb {
    struct spex_search search;
    uint64_t effort;  /* runs, as far as time does not matter */
    uint64_t budget;  /* runs, as far as is known */
    bool begun;       /* `here` is valid */
    bool exhausted;   /* no untried configuration to start from is left */
    size_t here;      /* the current configuration */
    size_t there;     /* the configuration compared with it, or SPEX_RESULTS_NONE */
    size_t parameter; /* index of the parameter that is varied */
    size_t option;    /* ordered parameter: 0 for up, 1 for down; else the level */
    size_t step;      /* levels, of an ordered parameter */
    size_t vain;      /* number of parameters in a row without an improvement */
    bool gained;      /* the current parameter has brought an improvement */
};

static size_t climb_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct climb);
}

static int climb_init(void *state, const struct spex_space *space) {
    struct climb *climb = state;
    size_t *levels = calloc(space->parameter_count, sizeof(*levels));
    if (!levels)
        return -ENOMEM;
    *climb = (struct climb){.there = SPEX_RESULTS_NONE, .step = 1};
    spex_search_init(&climb->search, space);
    climb->effort = climb->budget = spex_effort(space, spex_configurations_distinct(space, levels));
    free(levels);
    return 0;
}

static uint64_t climb_runs(const void *state) {
    return ((const struct climb *)state)->budget;
}

/* The number of variations of the current parameter: two directions, or all levels of a
 * category. */
static size_t climb_options(const struct climb *climb) {
    const struct spex_parameter *parameter = &climb->search.space->parameters[climb->parameter];
    return spex_parameter_ordered(parameter) ? 2 : parameter->count;
}

/* Goes on to the next variation; after the last one, to the next parameter. */
static void climb_next_option(struct climb *climb) {
    climb->step = 1;
    if (++climb->option < climb_options(climb))
        return;
    climb->option = 0;
    climb->vain = climb->gained ? 0 : climb->vain + 1;
    climb->gained = false;
    climb->parameter = (climb->parameter + 1) % climb->search.space->parameter_count;
}

/* Sets `levels` to the configuration of the current variation. False when that is not allowed or is
 * the current configuration. A step beyond the last level ends at it. */
static bool climb_option_levels(const struct climb *climb, size_t *levels) {
    const struct spex_parameter *parameter = &climb->search.space->parameters[climb->parameter];
    const size_t *here = spex_results_levels(&climb->search.results, climb->here);
    size_t bytes = climb->search.space->parameter_count * sizeof(*levels);
    size_t level = here[climb->parameter], last = parameter->count - 1;
    memcpy(levels, here, bytes);
    if (!spex_parameter_ordered(parameter))
        levels[climb->parameter] = climb->option;
    else if (climb->option == 0)
        levels[climb->parameter] = last - level < climb->step ? last : level + climb->step;
    else
        levels[climb->parameter] = level < climb->step ? 0 : level - climb->step;
    return spex_space_settle(climb->search.space, levels) && memcmp(levels, here, bytes) != 0;
}

enum verdict { BETTER, WORSE, OPEN };

static struct spex_race_entry climb_race_entry(const struct climb *climb,
                                               const struct spex_noise *noise, size_t config) {
    return spex_race_entry(noise, &climb->search.loss, &climb->search.results, config);
}

/* Compares `there` with `here`. When they cannot be told apart, *again is set to the configuration
 * that needs one more trial. They differ when their means do by a standard error of the difference;
 * after COMPARED trials, by half of one. */
static enum verdict climb_compare(struct climb *climb, size_t *again) {
    spex_loss_learn(&climb->search.loss, &climb->search.results);
    struct spex_noise noise = spex_race_noise(&climb->search.loss, &climb->search.results);
    struct spex_race_entry here = climb_race_entry(climb, &noise, climb->here);
    struct spex_race_entry there = climb_race_entry(climb, &noise, climb->there);
    if (!(there.trials > 0))
        return WORSE;
    if (!(here.trials > 0))
        return BETTER;
    double z = (here.mean - there.mean) /
               sqrt(here.variance / here.trials + there.variance / there.trials);
    if (z >= 1 || z <= 0)
        return z > 0 ? BETTER : WORSE;
    *again = there.trials <= here.trials ? climb->there : climb->here;
    if (climb->search.results.configs[*again].trials >= COMPARED)
        return z > 0.5 ? BETTER : WORSE;
    return OPEN;
}

/* Moves to `there` if it is better. An ordered parameter goes on in the same direction with twice
 * the step. */
static void climb_decide(struct climb *climb, enum verdict verdict) {
    if (verdict == BETTER) {
        climb->here = climb->there;
        climb->gained = true;
        climb->step *= 2;
        if (!spex_parameter_ordered(&climb->search.space->parameters[climb->parameter]))
            climb_next_option(climb);
    } else {
        climb_next_option(climb);
    }
    climb->there = SPEX_RESULTS_NONE;
}

/* Starts from a new configuration, which the caller plans next, with a random parameter. */
static void climb_restart(struct climb *climb) {
    climb->begun = true;
    climb->here = climb->search.results.count; /* the index that the next configuration will have */
    climb->there = SPEX_RESULTS_NONE;
    climb->vain = climb->option = 0;
    climb->step = 1;
    climb->gained = false;
    climb->parameter = spex_draw_below(&climb->search.draw, climb->search.space->parameter_count);
    if (climb->search.loss.objectives > 1)
        spex_loss_turn(&climb->search.loss, &climb->search.draw);
}

/* One step of the descent. True when `levels` has a configuration to run; false when results that
 * are there already were enough to take the step. */
static bool climb_compare_next(struct climb *climb, size_t *levels) {
    size_t bytes = climb->search.space->parameter_count * sizeof(*levels), again;
    if (climb->there != SPEX_RESULTS_NONE) {
        enum verdict verdict = climb_compare(climb, &again);
        if (verdict == OPEN)
            memcpy(levels, spex_results_levels(&climb->search.results, again), bytes);
        else
            climb_decide(climb, verdict);
        return verdict == OPEN;
    }
    if (!climb_option_levels(climb, levels)) {
        climb_next_option(climb);
        return false;
    }
    climb->there = spex_results_find(&climb->search.results, levels);
    if (climb->there != SPEX_RESULTS_NONE)
        return false;
    climb->there = climb->search.results.count;
    return true;
}

/* Sets `levels` to the next configuration to run; false when no untried configuration is left. */
static bool climb_search(struct climb *climb, size_t *levels) {
    while (!climb->exhausted) {
        if (!climb->begun) {
            climb_restart(climb);
            climb->exhausted =
                !spex_lattice_next(&climb->search.lattice, &climb->search.results, levels);
            return !climb->exhausted;
        }
        if (climb->vain >= climb->search.space->parameter_count)
            climb->begun = false;
        else if (climb_compare_next(climb, levels))
            return true;
    }
    return false;
}

static int climb_choose(void *state, struct spex_plan *plan) {
    struct climb *climb = state;
    struct spex_search *search = &climb->search;
    bool climbing = (double)search->results.planned < CLIMBING * (double)climb->budget ||
                    spex_race_is_exact(&search->results);
    if (climbing && !climb->exhausted && search->results.pending)
        return -EAGAIN;
    bool designed = search->results.count > search->space->parameter_count;
    return spex_search_measure(search, climb->budget, designed, plan->levels) ||
           spex_search_confirm(search, climb->budget, plan->levels) ||
           (climbing && climb_search(climb, plan->levels)) ||
           spex_search_rest(search, climb->budget, plan->levels);
}

static int climb_next(void *state, struct spex_plan *plan) {
    struct climb *climb = state;
    climb->budget = spex_effort_now(climb->search.space, plan, climb->effort);
    return spex_search_next(climb, climb->budget, plan, climb_choose);
}

static void climb_fini(void *state) {
    spex_search_free(&((struct climb *)state)->search);
}

SPEX_POLICY(climb) = {
    SPEX_POLICY_NAMED("climb", "uphill, one parameter at a time, from several configurations"),
    .state_size = climb_state_size,
    .init = climb_init,
    .next = climb_next,
    .stop_run = spex_search_stop_run,
    .runs = climb_runs,
    .run_finished = spex_search_run_finished,
    .fini = climb_fini,
};
