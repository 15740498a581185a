/* SPDX-License-Identifier: MIT */
/* Tree-structured Parzen estimator (Bergstra and others, Algorithms for Hyper-Parameter
 * Optimization, 2011). For each parameter by itself, it estimates how often a level occurs in good
 * configurations and in the others, among those in which the parameter applies. Candidates are
 * drawn from the distribution of the good ones, and the one with the highest ratio of the two
 * densities is run. The number of good configurations grows as the square root of all (Bergstra,
 * Yamins and Cox, 2013); old results weigh as much as new ones. The last runs repeat the best
 * configurations, as with the other policies. Interactions of parameters are not modelled: the
 * policy is for spaces of many parameters, where a joint model would need too many trials. */
#include "policies/explore/effort.h"
#include "policies/explore/search.h"

/* Shares of the budget: up to DESIGN configurations fill the space evenly, up to SEARCH they are
 * proposed by the estimator, then the best are repeated. */
#define DESIGN 0.2
#define SEARCH 0.7

/* Candidates of a proposal, drawn by the density of the good ones or, from a list, evenly; bounds of
 * the configurations that the densities are made of. */
enum { DRAWN = 32, DRAWN_LISTED = 512, GOOD_MAX = 25, OTHERS_MAX = 100 };

struct tpe {
    struct spex_search search;
    uint64_t effort; /* runs, as far as time does not matter */
    uint64_t budget; /* runs, as far as is known */
    bool exact;      /* as far as trials tell */
    size_t good[GOOD_MAX], good_count;
    size_t others[OTHERS_MAX], others_count;
    size_t *drawn; /* levels of a candidate */
};

static size_t tpe_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct tpe);
}

static int tpe_init(void *state, const struct spex_space *space) {
    struct tpe *tpe = state;
    *tpe = (struct tpe){.budget = 0};
    spex_search_init(&tpe->search, space);
    tpe->drawn = calloc(space->parameter_count, sizeof(size_t));
    if (!tpe->drawn)
        return -ENOMEM;
    tpe->effort = tpe->budget = spex_effort(space, spex_configurations_distinct(space, tpe->drawn));
    return 0;
}

static uint64_t tpe_runs(const void *state) {
    return ((const struct tpe *)state)->budget;
}

static int tpe_compare_doubles(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Makes finished configurations of at most this loss the good ones, and every step-th of the rest
 * the others. */
static void tpe_split_at(struct tpe *tpe, double limit, size_t finished) {
    size_t step = 1 + finished / OTHERS_MAX, place = 0;
    tpe->good_count = tpe->others_count = 0;
    for (size_t c = 0; c < tpe->search.results.count; c++) {
        const struct spex_results_config *known = &tpe->search.results.configs[c];
        if (!known->trials && !known->failed)
            continue;
        if (spex_loss_of(&tpe->search.loss, &tpe->search.results, c) <= limit &&
            tpe->good_count < GOOD_MAX)
            tpe->good[tpe->good_count++] = c;
        else if (place++ % step == 0 && tpe->others_count < OTHERS_MAX)
            tpe->others[tpe->others_count++] = c;
    }
}

/* Splits the finished configurations into good ones and others. 0 or -ENOMEM. */
static int tpe_split(struct tpe *tpe) {
    size_t finished = 0;
    double *losses = malloc((tpe->search.results.count + 1) * sizeof(*losses));
    if (!losses)
        return -ENOMEM;
    if (tpe->search.loss.objectives > 1)
        spex_loss_turn(&tpe->search.loss, &tpe->search.draw);
    spex_loss_learn(&tpe->search.loss, &tpe->search.results);
    for (size_t c = 0; c < tpe->search.results.count; c++)
        if (tpe->search.results.configs[c].trials || tpe->search.results.configs[c].failed)
            losses[finished++] = spex_loss_of(&tpe->search.loss, &tpe->search.results, c);
    size_t good = (size_t)ceil(sqrt((double)finished));
    good = good < GOOD_MAX ? good : GOOD_MAX;
    qsort(losses, finished, sizeof(*losses), tpe_compare_doubles);
    tpe->good_count = tpe->others_count = 0;
    if (finished)
        tpe_split_at(tpe, losses[good - 1], finished);
    free(losses);
    return 0;
}

/* The kernel's bandwidth, for positions of 0 to 1, by Silverman's rule of thumb for uniformly
 * spread values; at least half the distance of two levels. */
static double tpe_bandwidth(const struct spex_parameter *parameter, size_t count) {
    double usual = 0.3 * pow((double)count + 1, -0.2);
    return fmax(usual, parameter->count > 1 ? 0.5 / (double)(parameter->count - 1) : 1);
}

/* The density of a level among these configurations: Gaussian kernels for ordered parameters,
 * counts for categories, with one more observation that is uniform over all levels. */
static double tpe_density(const struct tpe *tpe, const size_t *configs, size_t count, size_t p,
                          size_t level) {
    const struct spex_parameter *parameter = &tpe->search.space->parameters[p];
    double sum = 1 / (double)parameter->count, weights = 1;
    double width = tpe_bandwidth(parameter, count), spacing = 1 / (double)parameter->count;
    for (size_t i = 0; i < count; i++) {
        const size_t *levels = spex_results_levels(&tpe->search.results, configs[i]);
        if (!spex_space_applies(tpe->search.space, levels, p))
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

/* Draws a level from the density of the good configurations: the level of one of them, for an
 * ordered parameter moved by a normal variate (Box and Muller), or a uniform one. */
static size_t tpe_draw_level(struct tpe *tpe, size_t p) {
    const struct spex_parameter *parameter = &tpe->search.space->parameters[p];
    uint64_t from = spex_draw_below(&tpe->search.draw, tpe->good_count + 1);
    if (from == tpe->good_count)
        return spex_draw_below(&tpe->search.draw, parameter->count);
    size_t level = spex_results_levels(&tpe->search.results, tpe->good[from])[p];
    if (!spex_parameter_ordered(parameter))
        return level;
    double reach = tpe_bandwidth(parameter, tpe->good_count) * (double)(parameter->count - 1);
    double normal = sqrt(-2 * log(1 - spex_draw_share(&tpe->search.draw))) *
                    cos(2 * M_PI * spex_draw_share(&tpe->search.draw));
    double moved = round((double)level + reach * normal);
    return (size_t)fmin(fmax(moved, 0), (double)(parameter->count - 1));
}

/* The sum of the logarithms of good over other density. Parameters that do not apply do not
 * count. */
static double tpe_log_ratio(const struct tpe *tpe, const size_t *levels) {
    double sum = 0;
    for (size_t p = 0; p < tpe->search.space->parameter_count; p++)
        if (tpe->search.space->parameters[p].count > 1 &&
            spex_space_applies(tpe->search.space, levels, p))
            sum += log(tpe_density(tpe, tpe->good, tpe->good_count, p, levels[p]) /
                       tpe_density(tpe, tpe->others, tpe->others_count, p, levels[p]));
    return sum;
}

/* Whether a configuration is worth a run: it was not tried; or, where trials vary, it is not under
 * way, has not failed, and has had fewer trials than it may have. */
static bool tpe_is_open(const struct tpe *tpe, const size_t *levels) {
    size_t config = spex_results_find(&tpe->search.results, levels);
    if (config == SPEX_RESULTS_NONE || tpe->exact)
        return config == SPEX_RESULTS_NONE;
    const struct spex_results_config *known = &tpe->search.results.configs[config];
    return !known->pending && !known->failed &&
           known->trials < spex_effort_repeats(tpe->search.space);
}

/* Draws a candidate. What the density of each parameter makes is rarely in a list. */
static bool tpe_draw(struct tpe *tpe) {
    const struct spex_space *space = tpe->search.space;
    if (space->listed_count) {
        spex_configuration_levels(space, spex_draw_below(&tpe->search.draw, space->listed_count),
                                  tpe->drawn);
        return true;
    }
    for (size_t p = 0; p < space->parameter_count; p++)
        tpe->drawn[p] = tpe_draw_level(tpe, p);
    return spex_space_settle(space, tpe->drawn);
}

/* Sets `levels` to the best of the drawn candidates, or, if none is open, to a new configuration.
 * 1; 0: there is none; or -ENOMEM. */
static int tpe_propose(struct tpe *tpe, size_t *levels) {
    double most = -INFINITY;
    int err = tpe_split(tpe);
    if (err || !tpe->good_count)
        return err;
    for (size_t i = 0; i < (tpe->search.space->listed_count ? DRAWN_LISTED : DRAWN); i++) {
        if (!tpe_draw(tpe) || !tpe_is_open(tpe, tpe->drawn))
            continue;
        double found = tpe_log_ratio(tpe, tpe->drawn);
        if (found > most) {
            most = found;
            memcpy(levels, tpe->drawn, tpe->search.space->parameter_count * sizeof(*levels));
        }
    }
    return most > -INFINITY ||
           spex_lattice_next(&tpe->search.lattice, &tpe->search.results, levels);
}

/* 1 with levels; 0: no more runs are wanted; or -ENOMEM. */
static int tpe_choose(void *state, struct spex_plan *plan) {
    struct tpe *tpe = state;
    size_t *levels = plan->levels;
    double planned = (double)tpe->search.results.planned, budget = (double)tpe->budget;
    bool designed = planned >= DESIGN * budget;
    if (spex_search_measure(&tpe->search, tpe->budget, designed, levels) ||
        spex_search_confirm(&tpe->search, tpe->budget, levels) ||
        (!designed && spex_search_untried(&tpe->search, levels)))
        return 1;
    tpe->exact = spex_race_is_exact(&tpe->search.results);
    int got = planned < SEARCH * budget || tpe->exact ? tpe_propose(tpe, levels) : 0;
    return got ? got : spex_search_rest(&tpe->search, tpe->budget, levels);
}

static int tpe_next(void *state, struct spex_plan *plan) {
    struct tpe *tpe = state;
    tpe->budget = spex_effort_now(tpe->search.space, plan, tpe->effort);
    return spex_search_next(tpe, tpe->budget, plan, tpe_choose);
}

static void tpe_fini(void *state) {
    struct tpe *tpe = state;
    spex_search_free(&tpe->search);
    free(tpe->drawn);
}

SPEX_POLICY(tpe) = {
    SPEX_POLICY_NAMED("tpe",
                      "parameters' values that good configurations have more often than others"),
    .state_size = tpe_state_size,
    .init = tpe_init,
    .next = tpe_next,
    .stop_run = spex_search_stop_run,
    .runs = tpe_runs,
    .run_finished = spex_search_run_finished,
    .fini = tpe_fini,
};
