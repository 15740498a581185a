/* SPDX-License-Identifier: MIT */
#include "simulation.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "explore/findings/drift_error.h"
#include "policies/explore/configurations.h"
#include "policies/explore/loss.h"

enum { PARALLEL_MAX = 8, TRIALS_MAX = 300000 };

/* A run that is under way. */
struct slot {
    bool busy;
    size_t levels[LANDSCAPE_PARAMETERS];
    uint64_t block;
    struct run run;
};

struct explored {
    const struct simulation *simulation;
    struct landscape *landscape; /* with this seed */
    struct machine machine;
    struct spex_results results; /* of the judge */
    struct spex_summary summary; /* the same, as reports have it */
    struct spex_final_trials finals;
    void *state;
    struct slot slots[PARALLEL_MAX];
    unsigned busy;
    uint64_t in_finals;
    double policy_seconds;
};

static double processor_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int ask(struct explored *explored, struct spex_plan *plan) {
    double begin = processor_seconds();
    int got = explored->simulation->policy->next(explored->state, plan);
    explored->policy_seconds += processor_seconds() - begin;
    return got;
}

static void check(const struct explored *explored, const size_t *levels) {
    const struct spex_space *space = &explored->landscape->space;
    size_t settled[LANDSCAPE_PARAMETERS];
    memcpy(settled, levels, sizeof(settled));
    for (size_t p = 0; p < space->parameter_count; p++)
        if (levels[p] >= space->parameters[p].count)
            errx(1, "%s: a level that there is not", explored->simulation->policy->name);
    if (!spex_space_settle(space, settled) ||
        memcmp(settled, levels, space->parameter_count * sizeof(*levels)) != 0)
        errx(1, "%s: not allowed, or not settled", explored->simulation->policy->name);
}

/* Whether a run was begun. */
static bool begin_run(struct explored *explored) {
    struct slot *slot = explored->slots;
    while (slot->busy)
        slot++;
    memset(slot->levels, 0, sizeof(slot->levels));
    struct spex_plan plan = {.size = sizeof(plan),
                             .levels = slot->levels,
                             .probes = "q:tpt",
                             .duration_seconds = explored->landscape->space.rules.duration_seconds};
    int got = ask(explored, &plan);
    if (got < 0 && (got != -EAGAIN || !explored->busy))
        errx(1, "%s on %s: next says %d", explored->simulation->policy->name,
             explored->landscape->name, got);
    if (got <= 0)
        return false;
    check(explored, slot->levels);
    if (spex_results_plan(&explored->results, slot->levels))
        errx(1, "out of memory");
    machine_run(&explored->machine, explored->landscape, explored->simulation->policy,
                explored->state, &plan, &slot->run);
    slot->block = plan.block;
    explored->in_finals += plan.block > 0;
    slot->busy = true;
    explored->busy++;
    if (explored->machine.trials > TRIALS_MAX)
        errx(1, "%s: no end", explored->simulation->policy->name);
    return true;
}

/* Runs end in the order of their slots, which is not that in which they began. */
static void end_run(struct explored *explored) {
    struct slot *slot = explored->slots;
    while (!slot->busy)
        slot++;
    struct spex_result result = {.size = sizeof(result),
                                 .levels = slot->levels,
                                 .ok = slot->run.ok,
                                 .measured = slot->run.measured,
                                 .records_used = slot->run.records,
                                 .seconds = slot->run.measured_seconds};
    double begin = processor_seconds();
    if (explored->simulation->policy->run_finished)
        explored->simulation->policy->run_finished(explored->state, &result);
    explored->policy_seconds += processor_seconds() - begin;
    spex_results_finish(&explored->results, &result);
    const struct spex_trial trial = {.levels = slot->levels,
                                     .ok = slot->run.ok,
                                     .measured = slot->run.measured,
                                     .block = slot->block};
    if (spex_summary_add(&explored->summary, &trial) ||
        spex_final_trials_add(&explored->finals, &explored->summary, &trial))
        errx(1, "out of memory");
    slot->busy = false;
    explored->busy--;
}

/* What is ranked: those that keep the limits as surely as policies take it. */
static void rank_inputs(const struct explored *explored, struct spex_ranking_input *inputs) {
    const struct spex_results *results = &explored->results;
    struct spex_loss loss;
    spex_loss_init(&loss, &explored->landscape->space);
    spex_loss_learn(&loss, results);
    for (size_t g = 0; g < explored->summary.count; g++) {
        const struct spex_group *group = &explored->summary.groups[g];
        const struct spex_group_criterion *of = &group->criteria[0];
        size_t config = spex_results_find(results, group->levels);
        double kept = 1;
        if (group->trials)
            spex_loss_violation(&loss, spex_results_values(results, config), (double)group->trials,
                                &kept);
        inputs[g] = (struct spex_ranking_input){kept >= SPEX_LOSS_SURE ? group->trials : 0,
                                                of->mean, of->squares, of->error};
    }
}

static double true_figure(const struct explored *explored, size_t group) {
    double truth[LANDSCAPE_CRITERIA];
    explored->landscape->truth(explored->landscape, explored->summary.groups[group].levels, truth);
    return truth[0];
}

/* But for rounding. */
static bool is_covered(const struct explored *explored, const struct spex_ranking *standing,
                       size_t group) {
    double truth = true_figure(explored, group);
    return standing->low <= truth * (1 + 1e-9) && truth * (1 - 1e-9) <= standing->high;
}

/* What is said of the best. */
static void judge_best(const struct explored *explored, const struct spex_ranking *standings,
                       size_t best, size_t really, struct outcome *outcome) {
    double truth = true_figure(explored, best);
    outcome->share = landscape_share(explored->landscape, explored->summary.groups[best].levels);
    outcome->covered = is_covered(explored, &standings[best], best);
    outcome->width = (standings[best].high - standings[best].low) / 2 / truth;
    outcome->best_tied = standings[really].tied;
    outcome->alone = outcome->tied == 1;
    outcome->alone_right = outcome->alone && truth >= true_figure(explored, really);
    outcome->selected = truth >= true_figure(explored, really) * (1 - SPEX_FINALS_ZONE);
}

static void judge_race(const struct explored *explored, const struct spex_final_race *race,
                       size_t really, struct outcome *outcome) {
    double most = 0;
    outcome->known = race->trials && race->known;
    for (size_t f = 0; race->trials && f < race->count; f++) {
        most = fmax(most, true_figure(explored, race->finalists[f].group));
        outcome->best_raced |= race->finalists[f].group == really;
    }
    outcome->known_right =
        outcome->known &&
        true_figure(explored, race->finalists[race->leader].group) >= most * (1 - race->zone);
}

/* Compares what reports say with the truth. */
static void compare_with_truth(const struct explored *explored, struct outcome *outcome) {
    const struct spex_summary *summary = &explored->summary;
    struct spex_ranking_input *inputs = calloc(summary->count + 1, sizeof(*inputs));
    struct spex_ranking *standings = calloc(summary->count + 1, sizeof(*standings));
    struct spex_final_race race;
    size_t best, really = 0, covered = 0, ranked = 0;
    double most = 0;
    if (!inputs || !standings)
        errx(1, "out of memory");
    rank_inputs(explored, inputs);
    if (spex_ranking_of(inputs, summary->count, true, standings, &best) ||
        spex_final_race_find(summary, &explored->finals, standings, &race))
        errx(1, "out of memory");
    spex_final_race_decide(&race, standings, &best);
    if (spex_drift_widen(summary, &explored->finals, standings))
        errx(1, "out of memory");
    for (size_t g = 0; g < summary->count; g++) {
        double share = landscape_share(explored->landscape, summary->groups[g].levels);
        outcome->configs += summary->groups[g].trials > 0;
        outcome->tied += standings[g].tied;
        ranked += inputs[g].trials > 0;
        covered += inputs[g].trials && is_covered(explored, &standings[g], g);
        if (inputs[g].trials && share > most) {
            most = share;
            really = g;
        }
    }
    outcome->all_covered = ranked ? (double)covered / (double)ranked : 0;
    judge_race(explored, &race, really, outcome);
    if (best != SPEX_RANKING_NONE)
        judge_best(explored, standings, best, really, outcome);
    free(inputs);
    free(standings);
}

/* A configuration as it is to two objectives: the first is maximised, the second minimised. */
struct point {
    double x, y;
};

static int by_x_descending(const void *a, const void *b) {
    const struct point *one = a, *other = b;
    return (one->x < other->x) - (one->x > other->x);
}

/* The area that they dominate, down to (0, worst). */
static double area(struct point *points, size_t count, double worst) {
    double sum = 0, least = worst;
    qsort(points, count, sizeof(*points), by_x_descending);
    for (size_t i = 0; i < count; i++)
        if (points[i].y < least) {
            sum += points[i].x * (least - points[i].y);
            least = points[i].y;
        }
    return sum;
}

static struct point true_point(const struct landscape *landscape, const size_t *levels) {
    double truth[LANDSCAPE_CRITERIA];
    landscape->truth(landscape, levels, truth);
    return (struct point){truth[0], truth[1]};
}

static bool is_dominated(const struct spex_results *results, size_t config) {
    const struct spex_results_values *mine = spex_results_values(results, config);
    for (size_t c = 0; c < results->count; c++) {
        const struct spex_results_values *other = spex_results_values(results, c);
        if (c != config && results->configs[c].trials && other[0].mean >= mine[0].mean &&
            other[1].mean <= mine[1].mean)
            return true;
    }
    return false;
}

/* What those that look undominated by their trials dominate in truth, as a share of what all
 * configurations do. */
static double front_share(const struct explored *explored) {
    const struct landscape *landscape = explored->landscape;
    const struct spex_results *results = &explored->results;
    uint64_t all = spex_space_configurations(&landscape->space);
    struct point *points = calloc(all, sizeof(*points));
    size_t levels[LANDSCAPE_PARAMETERS], found = 0;
    double worst = 0;
    if (!points)
        errx(1, "out of memory");
    for (uint64_t n = 0; n < all; n++) {
        spex_configuration_levels(&landscape->space, n, levels);
        points[n] = true_point(landscape, levels);
        worst = fmax(worst, points[n].y);
    }
    double whole = area(points, all, worst);
    for (size_t c = 0; c < results->count; c++)
        if (results->configs[c].trials && !is_dominated(results, c))
            points[found++] = true_point(landscape, spex_results_levels(results, c));
    double share = area(points, found, worst) / whole;
    free(points);
    return share;
}

void simulate(const struct simulation *simulation, struct outcome *outcome) {
    struct landscape landscape = *simulation->landscape;
    struct explored explored = {.simulation = simulation, .landscape = &landscape};
    unsigned parallel = simulation->parallel ? simulation->parallel : 1;
    landscape.space.rules.seed = simulation->seed;
    landscape.space.parameters = landscape.parameters;
    landscape.space.criteria = landscape.criteria;
    for (size_t p = 0; p < landscape.space.parameter_count; p++)
        landscape.parameters[p].values = landscape.values[p];
    explored.results.space = &landscape.space;
    machine_start(&explored.machine, simulation->seed);
    explored.machine.failures = simulation->failures;
    if (simulation->noise)
        explored.machine.noise = simulation->noise;
    spex_summary_init(&explored.summary, &landscape.space);
    explored.state = calloc(1, simulation->policy->state_size(&landscape.space));
    if (!explored.state || simulation->policy->init(explored.state, &landscape.space))
        errx(1, "%s does not begin", simulation->policy->name);
    *outcome = (struct outcome){0};
    for (bool more = true; more || explored.busy;) {
        more = explored.busy < parallel && begin_run(&explored);
        if (explored.busy == parallel || (!more && explored.busy)) {
            end_run(&explored);
            more = true;
        }
    }
    compare_with_truth(&explored, outcome);
    if (landscape.space.objective_count == 2)
        outcome->front = front_share(&explored);
    spex_summary_free(&explored.summary);
    spex_final_trials_free(&explored.finals);
    outcome->trials = explored.machine.trials;
    outcome->in_finals = explored.in_finals;
    outcome->seconds = explored.machine.seconds;
    outcome->policy_seconds = explored.policy_seconds;
    if (simulation->policy->fini)
        simulation->policy->fini(explored.state);
    free(explored.state);
    spex_results_free(&explored.results);
}
