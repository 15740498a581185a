/* SPDX-License-Identifier: MIT */
/* Coordinate descent: from a configuration to a better one that differs in one parameter, in steps that double while
 * they help; from another one when none helps. Two that are not told apart by a trial of each have some more, at most
 * so many that noise cannot hold it up. The last fifth of the runs repeats the best that were found. */
#include "policies/explore/effort.h"
#include "policies/explore/enough.h"
#include "policies/explore/lattice.h"
#include "policies/explore/race.h"

#define CLIMBING 0.8

enum { COMPARED = 3 }; /* trials at most before it is decided */

struct climb {
    const struct spex_space *space;
    struct spex_results results;
    struct spex_loss loss;
    struct spex_enough enough;
    struct spex_lattice lattice;
    struct spex_draw draw;
    uint64_t budget;
    bool begun;       /* from `here` */
    bool exhausted;   /* no configuration to begin from */
    size_t here;      /* where it stands */
    size_t there;     /* what it is compared with, or SPEX_RESULTS_NONE */
    size_t parameter; /* that is changed */
    size_t option;    /* of an ordered one 0 for up, 1 for down; of others a level */
    size_t step;      /* of an ordered one */
    size_t vain;      /* parameters in a row that were of no use */
    bool gained;      /* by this parameter */
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
    *climb = (struct climb){
        .space = space, .results = {.space = space}, .there = SPEX_RESULTS_NONE, .step = 1};
    climb->draw.state = spex_draw_mix(space->rules.seed);
    spex_loss_init(&climb->loss, space);
    spex_lattice_init(&climb->lattice, space);
    climb->budget = spex_effort(space, spex_configurations_standing(space, levels));
    free(levels);
    return 0;
}

static uint64_t climb_runs(const void *state) {
    return ((const struct climb *)state)->budget;
}

static size_t options(const struct climb *climb) {
    const struct spex_parameter *parameter = &climb->space->parameters[climb->parameter];
    return spex_parameter_ordered(parameter) ? 2 : parameter->count;
}

static void next_option(struct climb *climb) {
    climb->step = 1;
    if (++climb->option < options(climb))
        return;
    climb->option = 0;
    climb->vain = climb->gained ? 0 : climb->vain + 1;
    climb->gained = false;
    climb->parameter = (climb->parameter + 1) % climb->space->parameter_count;
}

/* The configuration that this option leads to; false when it is none. A step beyond the end goes to the end. */
static bool option_levels(const struct climb *climb, size_t *levels) {
    const struct spex_parameter *parameter = &climb->space->parameters[climb->parameter];
    const size_t *here = spex_results_levels(&climb->results, climb->here);
    size_t bytes = climb->space->parameter_count * sizeof(*levels);
    size_t level = here[climb->parameter], last = parameter->count - 1;
    memcpy(levels, here, bytes);
    if (!spex_parameter_ordered(parameter))
        levels[climb->parameter] = climb->option;
    else if (climb->option == 0)
        levels[climb->parameter] = last - level < climb->step ? last : level + climb->step;
    else
        levels[climb->parameter] = level < climb->step ? 0 : level - climb->step;
    return spex_space_settle(climb->space, levels) && memcmp(levels, here, bytes) != 0;
}

enum verdict { BETTER, WORSE, OPEN };

static struct spex_race_entry entry_of(const struct climb *climb, const struct spex_noise *noise,
                                       size_t config) {
    return spex_race_entry(noise, &climb->loss, &climb->results, config);
}

/* Of `there`; *again is the one to run once more to tell. */
static enum verdict compare(struct climb *climb, size_t *again) {
    spex_loss_learn(&climb->loss, &climb->results);
    struct spex_noise noise = spex_race_noise(&climb->loss, &climb->results);
    struct spex_race_entry here = entry_of(climb, &noise, climb->here);
    struct spex_race_entry there = entry_of(climb, &noise, climb->there);
    if (!(there.trials > 0))
        return WORSE;
    if (!(here.trials > 0))
        return BETTER;
    double z = (here.mean - there.mean) /
               sqrt(here.variance / here.trials + there.variance / there.trials);
    if (z >= 1 || z <= 0)
        return z > 0 ? BETTER : WORSE;
    *again = there.trials <= here.trials ? climb->there : climb->here;
    if (climb->results.configs[*again].trials >= COMPARED)
        return z > 0.5 ? BETTER : WORSE;
    return OPEN;
}

static void decide(struct climb *climb, enum verdict verdict) {
    if (verdict == BETTER) {
        climb->here = climb->there;
        climb->gained = true;
        climb->step *= 2;
        if (!spex_parameter_ordered(&climb->space->parameters[climb->parameter]))
            next_option(climb);
    } else {
        next_option(climb);
    }
    climb->there = SPEX_RESULTS_NONE;
}

static void begin(struct climb *climb) {
    climb->begun = true;
    climb->here = climb->results.count; /* the place it will have */
    climb->there = SPEX_RESULTS_NONE;
    climb->vain = climb->option = 0;
    climb->step = 1;
    climb->gained = false;
    climb->parameter = spex_draw_below(&climb->draw, climb->space->parameter_count);
    if (climb->loss.objectives > 1)
        spex_loss_turn(&climb->loss, &climb->draw);
}

/* Whether a run is needed; without, something is known already and it has gone on by that. */
static bool go_on(struct climb *climb, size_t *levels) {
    size_t bytes = climb->space->parameter_count * sizeof(*levels), again;
    if (climb->there != SPEX_RESULTS_NONE) {
        enum verdict verdict = compare(climb, &again);
        if (verdict == OPEN)
            memcpy(levels, spex_results_levels(&climb->results, again), bytes);
        else
            decide(climb, verdict);
        return verdict == OPEN;
    }
    if (!option_levels(climb, levels)) {
        next_option(climb);
        return false;
    }
    climb->there = spex_results_find(&climb->results, levels);
    if (climb->there != SPEX_RESULTS_NONE)
        return false;
    climb->there = climb->results.count;
    return true;
}

static bool climb_on(struct climb *climb, size_t *levels) {
    while (!climb->exhausted) {
        if (!climb->begun) {
            begin(climb);
            climb->exhausted = !spex_lattice_next(&climb->lattice, &climb->results, levels);
            return !climb->exhausted;
        }
        if (climb->vain >= climb->space->parameter_count)
            climb->begun = false;
        else if (go_on(climb, levels))
            return true;
    }
    return false;
}

static bool repeat(struct climb *climb, size_t *levels) {
    return spex_race_repeat(&climb->loss, &climb->results, &climb->draw, climb->budget, levels);
}

static int climb_next(void *state, struct spex_plan *plan) {
    struct climb *climb = state;
    if (climb->results.planned >= climb->budget)
        return 0;
    bool climbing = (double)climb->results.planned < CLIMBING * (double)climb->budget;
    if (climbing && !climb->exhausted && climb->results.pending)
        return -EAGAIN;
    bool planned = (climbing && climb_on(climb, plan->levels)) || repeat(climb, plan->levels);
    return spex_results_answer(&climb->results, planned, plan->levels);
}

static bool climb_stop_run(void *state, const struct spex_run *run) {
    const struct climb *climb = state;
    return spex_enough_run(&climb->enough, climb->space, run);
}

static void climb_run_finished(void *state, const struct spex_result *result) {
    struct climb *climb = state;
    spex_enough_learn(&climb->enough, climb->space, result);
    spex_results_finish(&climb->results, result);
}

static void climb_fini(void *state) {
    spex_results_free(&((struct climb *)state)->results);
}

SPEX_POLICY(climb) = {
    SPEX_POLICY_NAMED("climb", "uphill, one parameter at a time, from several configurations"),
    .state_size = climb_state_size,
    .init = climb_init,
    .next = climb_next,
    .stop_run = climb_stop_run,
    .runs = climb_runs,
    .run_finished = climb_run_finished,
    .fini = climb_fini,
};
