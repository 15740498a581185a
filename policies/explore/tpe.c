/* SPDX-License-Identifier: MIT */
/* Tree-structured Parzen estimator (Bergstra and others, Algorithms for Hyper-Parameter Optimization, 2011): of each
 * parameter by itself, how often it has a value in the good configurations against the others, among those in which it
 * applies. Of some drawn as the good ones are, the one for which that ratio is highest is run. With the later changes that
 * go without saying today: the number of good ones grows as the square root of all (Bergstra, Yamins and Cox, 2013), and
 * the newest weigh as much as the oldest. Repeats at last, as the other policies do. It knows nothing of interactions, and
 * is for spaces of many parameters, which a model of all of them together has too few trials for. */
#include "policies/explore/effort.h"
#include "policies/explore/enough.h"
#include "policies/explore/lattice.h"
#include "policies/explore/race.h"

#define DESIGN 0.2
#define SEARCH 0.7

/* Drawn for a proposal; of configurations that are not good, so many are looked at. */
enum { DRAWN = 32, GOOD_MAX = 25, OTHERS_MAX = 100 };

struct tpe {
    const struct spex_space *space;
    struct spex_results results;
    struct spex_loss loss;
    struct spex_enough enough;
    struct spex_lattice lattice;
    struct spex_draw draw;
    uint64_t budget;
    size_t good[GOOD_MAX], good_count;
    size_t others[OTHERS_MAX], others_count;
    size_t *drawn; /* levels */
};

static size_t tpe_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct tpe);
}

static int tpe_init(void *state, const struct spex_space *space) {
    struct tpe *tpe = state;
    *tpe = (struct tpe){.space = space, .results = {.space = space}};
    tpe->drawn = calloc(space->parameter_count, sizeof(size_t));
    if (!tpe->drawn)
        return -ENOMEM;
    tpe->draw.state = spex_draw_mix(space->rules.seed);
    spex_loss_init(&tpe->loss, space);
    spex_lattice_init(&tpe->lattice, space);
    tpe->budget = spex_effort(space, spex_configurations_standing(space, tpe->drawn));
    return 0;
}

static uint64_t tpe_runs(const void *state) {
    return ((const struct tpe *)state)->budget;
}

static int ascending(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Those below a loss are good; of the others some, evenly. */
static void divide_by(struct tpe *tpe, double limit, size_t finished) {
    size_t step = 1 + finished / OTHERS_MAX, place = 0;
    tpe->good_count = tpe->others_count = 0;
    for (size_t c = 0; c < tpe->results.count; c++) {
        const struct spex_results_config *known = &tpe->results.configs[c];
        if (!known->trials && !known->failed)
            continue;
        if (spex_loss_of(&tpe->loss, &tpe->results, c) <= limit && tpe->good_count < GOOD_MAX)
            tpe->good[tpe->good_count++] = c;
        else if (place++ % step == 0 && tpe->others_count < OTHERS_MAX)
            tpe->others[tpe->others_count++] = c;
    }
}

static int divide(struct tpe *tpe) {
    size_t finished = 0;
    double *losses = malloc((tpe->results.count + 1) * sizeof(*losses));
    if (!losses)
        return -ENOMEM;
    if (tpe->loss.objectives > 1)
        spex_loss_turn(&tpe->loss, &tpe->draw);
    spex_loss_learn(&tpe->loss, &tpe->results);
    for (size_t c = 0; c < tpe->results.count; c++)
        if (tpe->results.configs[c].trials || tpe->results.configs[c].failed)
            losses[finished++] = spex_loss_of(&tpe->loss, &tpe->results, c);
    size_t good = (size_t)ceil(sqrt((double)finished));
    good = good < GOOD_MAX ? good : GOOD_MAX;
    qsort(losses, finished, sizeof(*losses), ascending);
    tpe->good_count = tpe->others_count = 0;
    if (finished)
        divide_by(tpe, losses[good - 1], finished);
    free(losses);
    return 0;
}

/* By Silverman's rule of thumb for what is spread over all of it. */
static double bandwidth(const struct spex_parameter *parameter, size_t count) {
    double usual = 0.3 * pow((double)count + 1, -0.2);
    return fmax(usual, parameter->count > 1 ? 0.5 / (double)(parameter->count - 1) : 1);
}

/* How often this level occurs among them, with one more that has all levels alike. */
static double density(const struct tpe *tpe, const size_t *configs, size_t count, size_t p,
                      size_t level) {
    const struct spex_parameter *parameter = &tpe->space->parameters[p];
    double sum = 1 / (double)parameter->count, weights = 1;
    double width = bandwidth(parameter, count), spacing = 1 / (double)parameter->count;
    for (size_t i = 0; i < count; i++) {
        const size_t *levels = spex_results_levels(&tpe->results, configs[i]);
        if (!spex_space_applies(tpe->space, levels, p))
            continue;
        weights++;
        if (!spex_parameter_ordered(parameter)) {
            sum += levels[p] == level;
            continue;
        }
        double z =
            (parameter->values[levels[p]].position - parameter->values[level].position) / width;
        sum += exp(-z * z / 2) / (width * sqrt(2 * M_PI)) * spacing;
    }
    return sum / weights;
}

/* As a good one has it, or a level beside that. */
static size_t draw_level(struct tpe *tpe, size_t p) {
    const struct spex_parameter *parameter = &tpe->space->parameters[p];
    uint64_t from = spex_draw_below(&tpe->draw, tpe->good_count + 1);
    if (from == tpe->good_count)
        return spex_draw_below(&tpe->draw, parameter->count);
    size_t level = spex_results_levels(&tpe->results, tpe->good[from])[p];
    if (!spex_parameter_ordered(parameter))
        return level;
    double reach = bandwidth(parameter, tpe->good_count) * (double)(parameter->count - 1);
    double normal = sqrt(-2 * log(1 - spex_draw_share(&tpe->draw))) *
                    cos(2 * M_PI * spex_draw_share(&tpe->draw));
    double moved = round((double)level + reach * normal);
    return (size_t)fmin(fmax(moved, 0), (double)(parameter->count - 1));
}

static double ratio(const struct tpe *tpe, const size_t *levels) {
    double sum = 0;
    for (size_t p = 0; p < tpe->space->parameter_count; p++)
        if (tpe->space->parameters[p].count > 1 && spex_space_applies(tpe->space, levels, p))
            sum += log(density(tpe, tpe->good, tpe->good_count, p, levels[p]) /
                       density(tpe, tpe->others, tpe->others_count, p, levels[p]));
    return sum;
}

/* Whether it is worth a run: not under way, not failed, and not known well. */
static bool is_open(const struct tpe *tpe, const size_t *levels) {
    size_t config = spex_results_find(&tpe->results, levels);
    if (config == SPEX_RESULTS_NONE)
        return true;
    const struct spex_results_config *known = &tpe->results.configs[config];
    return !known->pending && !known->failed && known->trials < spex_effort_repeats(tpe->space);
}

static bool propose(struct tpe *tpe, size_t *levels) {
    double most = -INFINITY;
    if (divide(tpe) || !tpe->good_count)
        return false;
    for (size_t i = 0; i < DRAWN; i++) {
        for (size_t p = 0; p < tpe->space->parameter_count; p++)
            tpe->drawn[p] = draw_level(tpe, p);
        if (!spex_space_settle(tpe->space, tpe->drawn) || !is_open(tpe, tpe->drawn))
            continue;
        double found = ratio(tpe, tpe->drawn);
        if (found > most) {
            most = found;
            memcpy(levels, tpe->drawn, tpe->space->parameter_count * sizeof(*levels));
        }
    }
    return most > -INFINITY || spex_lattice_next(&tpe->lattice, &tpe->results, levels);
}

static bool repeat(struct tpe *tpe, size_t *levels) {
    return spex_race_repeat(&tpe->loss, &tpe->results, &tpe->draw, tpe->budget, levels);
}

static bool choose(struct tpe *tpe, size_t *levels) {
    double planned = (double)tpe->results.planned, budget = (double)tpe->budget;
    if (planned < DESIGN * budget && spex_lattice_next(&tpe->lattice, &tpe->results, levels))
        return true;
    return (planned < SEARCH * budget && propose(tpe, levels)) || repeat(tpe, levels);
}

static int tpe_next(void *state, struct spex_plan *plan) {
    struct tpe *tpe = state;
    if (tpe->results.planned >= tpe->budget)
        return 0;
    return spex_results_answer(&tpe->results, choose(tpe, plan->levels), plan->levels);
}

static bool tpe_stop_run(void *state, const struct spex_run *run) {
    const struct tpe *tpe = state;
    return spex_enough_run(&tpe->enough, tpe->space, run);
}

static void tpe_run_finished(void *state, const struct spex_result *result) {
    struct tpe *tpe = state;
    spex_enough_learn(&tpe->enough, tpe->space, result);
    spex_results_finish(&tpe->results, result);
}

static void tpe_fini(void *state) {
    struct tpe *tpe = state;
    spex_results_free(&tpe->results);
    free(tpe->drawn);
}

SPEX_POLICY(tpe) = {
    SPEX_POLICY_NAMED("tpe",
                      "parameters' values that good configurations have more often than others"),
    .state_size = tpe_state_size,
    .init = tpe_init,
    .next = tpe_next,
    .stop_run = tpe_stop_run,
    .runs = tpe_runs,
    .run_finished = tpe_run_finished,
    .fini = tpe_fini,
};
