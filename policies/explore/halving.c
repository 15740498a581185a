/* SPDX-License-Identifier: MIT */
/* Successive halving with races (Jamieson and Talwalkar, Non-stochastic Best Arm Identification,
 * 2016). Many configurations have one short run each; the better half of them has a full run more,
 * and so on. A configuration that is certainly worse than the leader is dropped at once. When at
 * most FINALISTS are left, they are repeated until the best is told from the others. */
#include "policies/explore/effort.h"
#include "policies/explore/search.h"

/* FIRST is the share of the budget for the first round. SHORT is the length of a short run as a
 * part of a full one, and what it takes of the budget. */
#define FIRST 0.45
#define SHORT (1.0 / 3)

/* Standard errors of a difference beyond which the worse configuration is dropped. */
#define DROPPED 2.0

enum { FINALISTS = 8 };

struct halving {
    struct spex_search search;
    double effort;     /* in full runs, as far as time does not matter */
    double budget;     /* in full runs, as far as is known */
    double spent;      /* the same; a short run counts as SHORT */
    uint64_t distinct; /* configurations that there are */
    uint64_t first;    /* configurations in the first round */
    bool timed;        /* the budget is the time's: runs count whatever their length */
    size_t *survivors; /* configurations of the current round */
    size_t survivor_count;
    size_t place; /* next place in `survivors` */
    unsigned round;
};

static size_t halving_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct halving);
}

/* The length of a run in the first round. A short run must leave as much time as the warm-up takes;
 * otherwise runs are full ones. */
static double halving_short_seconds(const struct spex_space *space) {
    double seconds = space->rules.duration_seconds * SHORT, warmup = space->rules.warmup_seconds;
    return warmup < 0 || seconds < 2 * warmup ? space->rules.duration_seconds : seconds;
}

/* What a run takes of the budget. rules.trials_max counts runs whatever their length, as does time,
 * which is measured. */
static double halving_run_cost(const struct halving *halving, double seconds) {
    return halving->timed || halving->search.space->rules.trials_max ||
                   !(seconds < halving->search.space->rules.duration_seconds)
               ? 1
               : SHORT;
}

/* The configurations of the first round, by the budget. */
static void halving_set_first(struct halving *halving) {
    double cost = halving_run_cost(halving, halving_short_seconds(halving->search.space));
    double first = fmax(1, FIRST * halving->budget / cost);
    halving->first = first < (double)halving->distinct ? (uint64_t)first : halving->distinct;
}

static int halving_init(void *state, const struct spex_space *space) {
    struct halving *halving = state;
    size_t *levels = calloc(space->parameter_count, sizeof(*levels));
    if (!levels)
        return -ENOMEM;
    *halving = (struct halving){.budget = 0};
    spex_search_init(&halving->search, space);
    halving->search.stage.from = UINT64_MAX; /* the rounds are the search */
    halving->distinct = spex_configurations_distinct(space, levels);
    halving->effort = halving->budget = (double)spex_effort(space, halving->distinct);
    halving_set_first(halving);
    free(levels);
    return 0;
}

/* The budget is in full runs; short runs make the number of runs larger. */
static uint64_t halving_runs(const void *state) {
    const struct halving *halving = state;
    double shorter = (double)halving->first *
                     (1 - halving_run_cost(halving, halving_short_seconds(halving->search.space)));
    return shorter > 0 ? (uint64_t)(halving->budget + shorter) + 2 : (uint64_t)halving->budget;
}

/* Whether a configuration is worse than the leader beyond chance and beyond indifference. */
static bool halving_is_dropped(const struct spex_race_entry *leader,
                               const struct spex_race_entry *entry) {
    double error = sqrt(leader->variance / leader->trials + entry->variance / entry->trials);
    return entry->mean - leader->mean > DROPPED * error + SPEX_RACE_INDIFFERENT;
}

/* Inserts a configuration into the arrays, which are sorted by loss, ascending. */
static void halving_insert(size_t *sorted, double *losses, size_t count, size_t config,
                           double loss) {
    size_t place = count;
    for (; place > 0 && losses[place - 1] > loss; place--) {
        sorted[place] = sorted[place - 1];
        losses[place] = losses[place - 1];
    }
    sorted[place] = config;
    losses[place] = loss;
}

/* Chooses the configurations of the next round: the better half of those that are not dropped. With
 * several objectives every round weighs them differently. 0 or -ENOMEM. */
static int halving_begin_round(struct halving *halving) {
    const struct spex_results *results = &halving->search.results;
    size_t count = halving->round ? halving->survivor_count : results->count, kept = 0;
    size_t *sorted = malloc((count + 1) * sizeof(*sorted));
    double *losses = malloc((count + 1) * sizeof(*losses));
    if (!sorted || !losses) {
        free(sorted);
        free(losses);
        return -ENOMEM;
    }
    if (halving->search.loss.objectives > 1)
        spex_loss_turn(&halving->search.loss, &halving->search.draw);
    spex_loss_learn(&halving->search.loss, results);
    struct spex_race race = spex_race_run(&halving->search.loss, results, UINT64_MAX);
    for (size_t i = 0; race.leader != SPEX_RESULTS_NONE && i < count; i++) {
        size_t config = halving->round ? halving->survivors[i] : i;
        struct spex_race_entry leader =
            spex_race_entry(&race.noise, &halving->search.loss, results, race.leader);
        struct spex_race_entry entry =
            spex_race_entry(&race.noise, &halving->search.loss, results, config);
        if (entry.trials > 0 && !halving_is_dropped(&leader, &entry))
            halving_insert(sorted, losses, kept++, config, entry.mean);
    }
    free(losses);
    free(halving->survivors);
    halving->survivors = sorted;
    halving->survivor_count = kept < (count + 1) / 2 ? kept : (count + 1) / 2;
    halving->place = 0;
    halving->round++;
    return 0;
}

/* Plans the next run of the rounds. 1 with levels; 0 when the rounds are over; -EAGAIN when a round
 * has to wait for results; or another negative errno value. */
static int halving_round_next(struct halving *halving, struct spex_plan *plan) {
    size_t bytes = halving->search.space->parameter_count * sizeof(*plan->levels);
    if (halving->round == 0) {
        if (halving->search.results.count < halving->first &&
            spex_lattice_next(&halving->search.lattice, &halving->search.results, plan->levels)) {
            plan->duration_seconds =
                fmin(plan->duration_seconds, halving_short_seconds(halving->search.space));
            return 1;
        }
        halving->first = halving->search.results.count;
    }
    if (halving->round == 0 || halving->place == halving->survivor_count) {
        if (halving->round > 0 && halving->survivor_count <= FINALISTS)
            return 0;
        if (halving->search.results.pending)
            return -EAGAIN;
        int err = halving_begin_round(halving);
        if (err || !halving->survivor_count)
            return err;
    }
    memcpy(plan->levels,
           spex_results_levels(&halving->search.results, halving->survivors[halving->place++]),
           bytes);
    return 1;
}

/* Takes the number of runs that there is time for. */
static void halving_take_time(struct halving *halving, const struct spex_plan *plan) {
    halving->budget =
        (double)spex_effort_now(halving->search.space, plan, (uint64_t)halving->effort);
    if (!plan->trials)
        return;
    halving->timed = true;
    halving->spent = (double)halving->search.results.planned;
    if (halving->round == 0)
        halving_set_first(halving);
}

/* The number of all runs, if those that are left are full ones. */
static uint64_t halving_all(const struct halving *halving) {
    double left = ceil(halving->budget - halving->spent - 1e-9);
    return halving->search.results.planned + (left > 0 ? (uint64_t)left : 0);
}

static int halving_choose(void *state, struct spex_plan *plan) {
    struct halving *halving = state;
    struct spex_search *search = &halving->search;
    bool exact = spex_race_is_exact(&search->results);
    int got = exact && halving->round ? 0 : halving_round_next(halving, plan);
    if (!got && search->stage.from == UINT64_MAX) {
        spex_finals_after(&search->stage, &search->space->rules, search->results.planned,
                          halving_all(halving));
        got = spex_search_finals(search, halving_all(halving), plan);
    }
    return got ? got : spex_search_rest(search, (uint64_t)halving->budget, plan->levels);
}

static int halving_next(void *state, struct spex_plan *plan) {
    struct halving *halving = state;
    halving_take_time(halving, plan);
    int got = spex_search_next(halving, halving_all(halving), plan, halving_choose);
    if (got > 0)
        halving->spent += halving_run_cost(halving, plan->duration_seconds);
    return got;
}

static void halving_fini(void *state) {
    struct halving *halving = state;
    spex_search_free(&halving->search);
    free(halving->survivors);
}

SPEX_POLICY(halving) = {
    SPEX_POLICY_NAMED(
        "halving", "many configurations in short runs, the better half of them again, and so on"),
    .state_size = halving_state_size,
    .init = halving_init,
    .next = halving_next,
    .stop_run = spex_search_stop_run,
    .runs = halving_runs,
    .run_finished = spex_search_run_finished,
    .fini = halving_fini,
};
