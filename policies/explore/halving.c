/* SPDX-License-Identifier: MIT */
/* Successive halving with races (Jamieson and Talwalkar, Non-stochastic Best Arm Identification, 2016): many
 * configurations have one short run each; the better half of them a full one more, and so on. Who is certainly worse than
 * the leader is dropped at once, whatever the half. When few are left they are repeated until it is clear which is
 * best. */
#include "policies/explore/effort.h"
#include "policies/explore/enough.h"
#include "policies/explore/lattice.h"
#include "policies/explore/race.h"

/* Of the budget, for the first round; a short run's part of a full one, which it takes of the budget. */
#define FIRST 0.45
#define SHORT (1.0 / 3)

/* Standard errors by which the worse are dropped. */
#define DROPPED 2.0

enum { FINALISTS = 8 };

struct halving {
    const struct spex_space *space;
    struct spex_results results;
    struct spex_loss loss;
    struct spex_enough enough;
    struct spex_lattice lattice;
    struct spex_draw draw;
    double budget;     /* full runs */
    double spent;      /* short ones in part */
    uint64_t first;    /* configurations in the first round */
    size_t *survivors; /* after it */
    size_t survivor_count;
    size_t place; /* in the round */
    unsigned round;
};

static size_t halving_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct halving);
}

/* Whether a short run says anything: beyond the warm-up there must be as much again. */
static double short_seconds(const struct spex_space *space) {
    double seconds = space->rules.duration_seconds * SHORT, warmup = space->rules.warmup_seconds;
    return warmup < 0 || seconds < 2 * warmup ? space->rules.duration_seconds : seconds;
}

/* Runs are counted, short or not, when it was said how many there may be. */
static double cost(const struct halving *halving, double seconds) {
    return halving->space->rules.trials_max || !(seconds < halving->space->rules.duration_seconds)
               ? 1
               : SHORT;
}

static int halving_init(void *state, const struct spex_space *space) {
    struct halving *halving = state;
    size_t *levels = calloc(space->parameter_count, sizeof(*levels));
    if (!levels)
        return -ENOMEM;
    *halving = (struct halving){.space = space, .results = {.space = space}};
    halving->draw.state = spex_draw_mix(space->rules.seed);
    spex_loss_init(&halving->loss, space);
    spex_lattice_init(&halving->lattice, space);
    uint64_t standing = spex_configurations_standing(space, levels);
    halving->budget = (double)spex_effort(space, standing);
    double first = fmax(1, FIRST * halving->budget / cost(halving, short_seconds(space)));
    halving->first = first < (double)standing ? (uint64_t)first : standing;
    free(levels);
    return 0;
}

/* More than a few of them are short. */
static uint64_t halving_runs(const void *state) {
    const struct halving *halving = state;
    double shorter = (double)halving->first * (1 - cost(halving, short_seconds(halving->space)));
    return shorter > 0 ? (uint64_t)(halving->budget + shorter) + 2 : (uint64_t)halving->budget;
}

static bool is_dropped(const struct spex_race *race, const struct spex_race_entry *leader,
                       const struct spex_race_entry *entry) {
    (void)race;
    double error = sqrt(leader->variance / leader->trials + entry->variance / entry->trials);
    return entry->mean - leader->mean > DROPPED * error + SPEX_RACE_INDIFFERENT;
}

/* By loss, ascending. */
static void insert(size_t *sorted, double *losses, size_t count, size_t config, double loss) {
    size_t place = count;
    for (; place > 0 && losses[place - 1] > loss; place--) {
        sorted[place] = sorted[place - 1];
        losses[place] = losses[place - 1];
    }
    sorted[place] = config;
    losses[place] = loss;
}

/* Who is in the next round: 0 or -ENOMEM. */
static int begin_round(struct halving *halving) {
    const struct spex_results *results = &halving->results;
    size_t count = halving->round ? halving->survivor_count : results->count, kept = 0;
    size_t *sorted = malloc((count + 1) * sizeof(*sorted));
    double *losses = malloc((count + 1) * sizeof(*losses));
    if (halving->loss.objectives > 1)
        spex_loss_turn(&halving->loss, &halving->draw);
    spex_loss_learn(&halving->loss, results);
    struct spex_race race = spex_race_run(&halving->loss, results, UINT64_MAX);
    for (size_t i = 0; sorted && losses && race.leader != SPEX_RESULTS_NONE && i < count; i++) {
        size_t config = halving->round ? halving->survivors[i] : i;
        struct spex_race_entry leader =
            spex_race_entry(&race.noise, &halving->loss, results, race.leader);
        struct spex_race_entry entry =
            spex_race_entry(&race.noise, &halving->loss, results, config);
        if (entry.trials > 0 && !is_dropped(&race, &leader, &entry))
            insert(sorted, losses, kept++, config, entry.mean);
    }
    free(losses);
    free(halving->survivors);
    halving->survivors = sorted;
    halving->survivor_count = kept < (count + 1) / 2 ? kept : (count + 1) / 2;
    halving->place = 0;
    halving->round++;
    return sorted ? 0 : -ENOMEM;
}

/* 1 with levels, 0 when the rounds are over, or a negative errno value. */
static int round_next(struct halving *halving, struct spex_plan *plan) {
    size_t bytes = halving->space->parameter_count * sizeof(*plan->levels);
    if (halving->round == 0) {
        if (halving->results.count < halving->first &&
            spex_lattice_next(&halving->lattice, &halving->results, plan->levels)) {
            plan->duration_seconds = fmin(plan->duration_seconds, short_seconds(halving->space));
            return 1;
        }
        halving->first = halving->results.count;
    }
    if (halving->round == 0 || halving->place == halving->survivor_count) {
        if (halving->round > 0 && halving->survivor_count <= FINALISTS)
            return 0;
        if (halving->results.pending)
            return -EAGAIN;
        int err = begin_round(halving);
        if (err || !halving->survivor_count)
            return err;
    }
    memcpy(plan->levels,
           spex_results_levels(&halving->results, halving->survivors[halving->place++]), bytes);
    return 1;
}

static int halving_next(void *state, struct spex_plan *plan) {
    struct halving *halving = state;
    if (halving->spent + 1e-9 >= halving->budget)
        return 0;
    int got = round_next(halving, plan);
    if (got < 0)
        return got;
    bool planned = got || spex_race_repeat(&halving->loss, &halving->results, &halving->draw,
                                           (uint64_t)halving->budget, plan->levels);
    if (planned)
        halving->spent += cost(halving, plan->duration_seconds);
    return spex_results_answer(&halving->results, planned, plan->levels);
}

static bool halving_stop_run(void *state, const struct spex_run *run) {
    const struct halving *halving = state;
    return spex_enough_run(&halving->enough, halving->space, run);
}

static void halving_run_finished(void *state, const struct spex_result *result) {
    struct halving *halving = state;
    spex_enough_learn(&halving->enough, halving->space, result);
    spex_results_finish(&halving->results, result);
}

static void halving_fini(void *state) {
    struct halving *halving = state;
    spex_results_free(&halving->results);
    free(halving->survivors);
}

SPEX_POLICY(halving) = {
    SPEX_POLICY_NAMED(
        "halving", "many configurations in short runs, the better half of them again, and so on"),
    .state_size = halving_state_size,
    .init = halving_init,
    .next = halving_next,
    .stop_run = halving_stop_run,
    .runs = halving_runs,
    .run_finished = halving_run_finished,
    .fini = halving_fini,
};
