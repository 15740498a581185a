/* SPDX-License-Identifier: MIT */
/* Bayesian optimisation for noisy programs. Configurations that fill the space evenly come first; then those of which a
 * Gaussian process expects the most improvement, with what one noisy trial can tell of it; at last repeats of the best,
 * until the one that leads is told from the others. A space of a few configurations is all tried before the repeats.
 *
 * The process is fitted anew whenever there is an eighth more to fit it to. In between, what has been proposed is taken to
 * come out as expected (Ginsbourger, Le Riche and Carraro's "kriging believer", 2010), so that several runs at
 * a time cost no more than one. */
#include "policies/explore/effort.h"
#include "policies/explore/enough.h"
#include "policies/explore/gaussian_process.h"
#include "policies/explore/lattice.h"
#include "policies/explore/race.h"

/* Shares of the budget after which proposals begin, and repeats of the best. */
#define DESIGN 0.15
#define SEARCH 0.56

/* A configuration of which so many runs failed and none succeeded is bad, and not tried again: once may be chance. */
enum { FAILED = 2 };

/* Screened by what is expected of them: the whole space, if it has no more, else some of it and neighbours of the best.
 * What is kept is looked at closely. */
enum { WHOLE = 2048, SCREENED = 768, CANDIDATES = 224, NEIGHBOURS_OF = 6 };

struct gaussian {
    const struct spex_space *space;
    struct spex_results results;
    struct spex_loss loss;
    struct spex_enough enough;
    struct spex_lattice lattice;
    struct spex_draw draw;
    struct spex_gp gp;
    struct spex_gp_candidates candidates;
    struct spex_noise noise;
    uint64_t standing; /* configurations */
    uint64_t budget;   /* runs */
    uint64_t finished;
    uint64_t fitted;      /* trials that had finished when lengths were last looked for */
    uint64_t batch;       /* proposals left before it is fitted again */
    double centre, scale; /* of losses, as the process has them */
    size_t *levels;       /* of each candidate */
    size_t *screened;     /* levels of each */
    double *expected;     /* scratch, of what is screened */
    size_t *order;        /* scratch: configurations by loss */
    double *losses;       /* scratch, of configurations */
    double *solution;     /* scratch, of observations */
    size_t room;          /* of the scratch for configurations */
    size_t *scratch;      /* one configuration */
    int error;
};

static size_t gaussian_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct gaussian);
}

static void gaussian_fini(void *state) {
    struct gaussian *gaussian = state;
    spex_results_free(&gaussian->results);
    spex_gp_free(&gaussian->gp);
    spex_gp_candidates_free(&gaussian->candidates);
    free(gaussian->screened);
    free(gaussian->expected);
    free(gaussian->levels);
    free(gaussian->order);
    free(gaussian->losses);
    free(gaussian->solution);
    free(gaussian->scratch);
}

static int gaussian_init(void *state, const struct spex_space *space) {
    struct gaussian *gaussian = state;
    *gaussian = (struct gaussian){.space = space, .results = {.space = space}};
    gaussian->draw.state = spex_draw_mix(space->rules.seed);
    gaussian->scratch = calloc(space->parameter_count, sizeof(size_t));
    gaussian->screened = calloc(WHOLE * space->parameter_count, sizeof(size_t));
    gaussian->expected = calloc(WHOLE, sizeof(double));
    gaussian->levels = calloc(CANDIDATES * space->parameter_count, sizeof(size_t));
    gaussian->solution = calloc(SPEX_GP_OBSERVATIONS, sizeof(double));
    if (!gaussian->scratch || !gaussian->screened || !gaussian->expected || !gaussian->levels ||
        !gaussian->solution ||
        spex_gp_init(&gaussian->gp, space, SPEX_GP_OBSERVATIONS + SPEX_GP_OBSERVATIONS / 4) ||
        spex_gp_candidates_init(&gaussian->candidates, &gaussian->gp, CANDIDATES)) {
        gaussian_fini(gaussian);
        return -ENOMEM;
    }
    spex_loss_init(&gaussian->loss, space);
    spex_lattice_init(&gaussian->lattice, space);
    gaussian->standing = spex_configurations_standing(space, gaussian->scratch);
    gaussian->budget = spex_effort(space, gaussian->standing);
    return 0;
}

static uint64_t gaussian_runs(const void *state) {
    return ((const struct gaussian *)state)->budget;
}

static uint64_t design_size(const struct gaussian *gaussian) {
    double few = 2 * (double)spex_effort_dimensions(gaussian->space) + 4;
    double size = fmin(fmax(DESIGN * (double)gaussian->budget, few), (double)gaussian->budget / 2);
    if (gaussian->standing <= SPEX_EFFORT_SMALL)
        return gaussian->standing;
    return (uint64_t)fmax(size, 1);
}

/* The losses of all configurations, with these weights, and their order. */
static bool rank(struct gaussian *gaussian) {
    struct spex_results *results = &gaussian->results;
    if (gaussian->room < results->room) {
        free(gaussian->order);
        free(gaussian->losses);
        gaussian->order = calloc(results->room, sizeof(size_t));
        gaussian->losses = calloc(results->room, sizeof(double));
        gaussian->room = gaussian->order && gaussian->losses ? results->room : 0;
    }
    if (!gaussian->room) {
        gaussian->error = -ENOMEM;
        return false;
    }
    spex_loss_learn(&gaussian->loss, results);
    size_t ranked = 0;
    for (size_t c = 0; c < results->count; c++) {
        const struct spex_results_config *known = &results->configs[c];
        gaussian->losses[c] = spex_loss_of(&gaussian->loss, results, c);
        if (!known->trials && known->failed < FAILED)
            continue;
        size_t place = ranked++;
        for (; place > 0 && gaussian->losses[gaussian->order[place - 1]] > gaussian->losses[c];
             place--)
            gaussian->order[place] = gaussian->order[place - 1];
        gaussian->order[place] = c;
    }
    for (size_t c = ranked; c < results->count; c++)
        gaussian->order[c] = SPEX_RESULTS_NONE;
    return ranked > 0;
}

static size_t ranked_count(const struct gaussian *gaussian) {
    size_t count = 0;
    while (count < gaussian->results.count && gaussian->order[count] != SPEX_RESULTS_NONE)
        count++;
    return count;
}

/* What is far worse than half of them need not be told apart: beyond one scale logarithms of it are taken. */
static double squeeze(double distance, double *slope) {
    *slope = distance > 1 ? 1 / distance : 1;
    return distance > 1 ? 1 + log(distance) : distance;
}

static void observe(struct gaussian *gaussian, size_t config) {
    struct spex_gp *gp = &gaussian->gp;
    const struct spex_results_config *known = &gaussian->results.configs[config];
    size_t row = gp->count++;
    struct spex_race_entry entry =
        spex_race_entry(&gaussian->noise, &gaussian->loss, &gaussian->results, config);
    double slope, trials = entry.trials > 0 ? entry.trials : (double)known->failed;
    spex_gp_point(gp, spex_results_levels(&gaussian->results, config),
                  gp->points + row * gp->dimensions);
    gp->losses[row] = squeeze((entry.mean - gaussian->centre) / gaussian->scale, &slope);
    double deviation = slope * sqrt(entry.variance / trials) / gaussian->scale;
    gp->noise[row] = deviation * deviation + 1e-6;
}

/* `most` configurations: the better half of that by loss, the others evenly from the rest. */
static void observe_some(struct gaussian *gaussian, size_t most) {
    size_t ranked = ranked_count(gaussian), best = ranked < most ? ranked : most / 2;
    gaussian->gp.count = 0;
    for (size_t i = 0; i < best; i++)
        observe(gaussian, gaussian->order[i]);
    for (size_t i = 0; best < ranked && i < most - best; i++)
        observe(gaussian, gaussian->order[best + i * (ranked - best) / (most - best)]);
}

static void scale_losses(struct gaussian *gaussian) {
    size_t ranked = ranked_count(gaussian);
    double least = gaussian->losses[gaussian->order[0]];
    gaussian->centre = gaussian->losses[gaussian->order[ranked / 2]];
    gaussian->scale = gaussian->centre - least;
    if (!(gaussian->scale > 1e-9))
        gaussian->scale = gaussian->losses[gaussian->order[ranked - 1]] - least;
    if (!(gaussian->scale > 1e-9))
        gaussian->scale = 1;
}

static void fit(struct gaussian *gaussian) {
    scale_losses(gaussian);
    if (gaussian->finished >= gaussian->fitted + gaussian->fitted / 2) {
        observe_some(gaussian, SPEX_GP_FITTED);
        spex_gp_fit(&gaussian->gp, gaussian->fitted ? 3 : 5);
        gaussian->fitted = gaussian->finished;
    }
    observe_some(gaussian, SPEX_GP_OBSERVATIONS);
    spex_gp_factorise(&gaussian->gp);
}

static size_t *candidate_levels(const struct gaussian *gaussian, size_t candidate) {
    return gaussian->levels + candidate * gaussian->space->parameter_count;
}

static size_t *screened_levels(const struct gaussian *gaussian, size_t place) {
    return gaussian->screened + place * gaussian->space->parameter_count;
}

/* Adds what the scratch has, unless it is not allowed. */
static void screen(struct gaussian *gaussian, size_t *count) {
    if (*count < WHOLE && spex_space_settle(gaussian->space, gaussian->scratch))
        memcpy(screened_levels(gaussian, (*count)++), gaussian->scratch,
               gaussian->space->parameter_count * sizeof(size_t));
}

/* A good configuration with another level of this parameter, and maybe of another parameter. */
static void screen_neighbour(struct gaussian *gaussian, const size_t *levels, size_t parameter,
                             size_t level, size_t other, size_t *count) {
    const struct spex_space *space = gaussian->space;
    memcpy(gaussian->scratch, levels, space->parameter_count * sizeof(size_t));
    gaussian->scratch[parameter] = level;
    if (other < space->parameter_count)
        gaussian->scratch[other] = spex_draw_below(&gaussian->draw, space->parameters[other].count);
    screen(gaussian, count);
}

/* Configurations that differ from a good one in one parameter, or two. */
static void screen_neighbours(struct gaussian *gaussian, size_t config, size_t *count) {
    const struct spex_space *space = gaussian->space;
    const size_t *levels = spex_results_levels(&gaussian->results, config);
    for (size_t d = 0; d < gaussian->gp.dimensions; d++) {
        size_t p = gaussian->gp.parameters[d], last = space->parameters[p].count - 1;
        size_t any = spex_draw_below(&gaussian->draw, last + 1);
        size_t other =
            gaussian->gp.parameters[spex_draw_below(&gaussian->draw, gaussian->gp.dimensions)];
        screen_neighbour(gaussian, levels, p, any, other, count);
        if (!spex_parameter_ordered(&space->parameters[p])) {
            screen_neighbour(gaussian, levels, p, any, space->parameter_count, count);
            continue;
        }
        if (levels[p] > 0)
            screen_neighbour(gaussian, levels, p, levels[p] - 1, space->parameter_count, count);
        if (levels[p] < last)
            screen_neighbour(gaussian, levels, p, levels[p] + 1, space->parameter_count, count);
    }
    screen_neighbour(gaussian, levels, 0, levels[0], space->parameter_count, count);
}

static size_t screen_all(struct gaussian *gaussian) {
    const struct spex_space *space = gaussian->space;
    uint64_t all = spex_space_configurations(space);
    size_t count = 0, ranked = ranked_count(gaussian);
    bool every = all <= WHOLE;
    for (size_t i = 0; !every && i < NEIGHBOURS_OF && i < ranked; i++)
        screen_neighbours(gaussian, gaussian->order[i], &count);
    for (uint64_t n = 0; n < (every ? all : SCREENED); n++) {
        uint64_t number = every ? n : spex_draw_below(&gaussian->draw, all);
        spex_configuration_levels(space, number, gaussian->scratch);
        screen(gaussian, &count);
    }
    return count;
}

/* The places of those expected to be best, that first, `most` of them at most. How many. */
static size_t best_expected(const struct gaussian *gaussian, size_t count, size_t *places,
                            size_t most) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        size_t place = kept;
        if (kept == most && !(gaussian->expected[i] < gaussian->expected[places[--place]]))
            continue;
        kept += kept < most;
        for (; place > 0 && gaussian->expected[places[place - 1]] > gaussian->expected[i]; place--)
            places[place] = places[place - 1];
        places[place] = i;
    }
    return kept;
}

/* Keeps those expected to be best, and some others. */
static void choose_candidates(struct gaussian *gaussian, size_t count) {
    struct spex_gp_candidates *candidates = &gaussian->candidates;
    struct spex_gp *gp = &gaussian->gp;
    size_t places[CANDIDATES] = {0};
    spex_gp_solve(gp, gaussian->solution);
    for (size_t i = 0; i < count; i++) {
        spex_gp_point(gp, screened_levels(gaussian, i), candidates->points);
        gaussian->expected[i] = spex_gp_expected(gp, gaussian->solution, candidates->points);
    }
    size_t kept = best_expected(gaussian, count, places,
                                count < CANDIDATES ? CANDIDATES : CANDIDATES * 3 / 4);
    while (kept < count && kept < CANDIDATES)
        places[kept++] = spex_draw_below(&gaussian->draw, count);
    for (size_t i = 0; i < kept; i++) {
        memcpy(candidate_levels(gaussian, i), screened_levels(gaussian, places[i]),
               gaussian->space->parameter_count * sizeof(size_t));
        spex_gp_point(gp, candidate_levels(gaussian, i), candidates->points + i * gp->dimensions);
    }
    candidates->count = kept;
}

/* Once there is enough new, everything is fitted again. */
static bool refresh(struct gaussian *gaussian) {
    if (gaussian->batch > 0)
        return true;
    if (gaussian->loss.objectives > 1)
        spex_loss_turn(&gaussian->loss, &gaussian->draw);
    if (!rank(gaussian))
        return false;
    gaussian->noise = spex_race_noise(&gaussian->loss, &gaussian->results);
    fit(gaussian);
    choose_candidates(gaussian, screen_all(gaussian));
    spex_gp_candidates_predict(&gaussian->candidates, &gaussian->gp);
    gaussian->batch = 1 + gaussian->finished / (gaussian->loss.objectives > 1 ? 32 : 12);
    if (gaussian->batch > SPEX_GP_OBSERVATIONS / 4)
        gaussian->batch = SPEX_GP_OBSERVATIONS / 4;
    return !gaussian->error;
}

/* Expected improvement, less the more of a trial is noise (Huang and others, Global Optimization of Stochastic Black-Box
 * Systems via Sequential Kriging Meta-Models, 2006). */
static double improvement(const struct spex_gp_candidates *candidates, size_t c, double least,
                          double noise) {
    double variance = fmax(candidates->variances[c], 1e-12), deviation = sqrt(variance);
    double z = (least - candidates->means[c]) / deviation;
    double density = exp(-z * z / 2) / sqrt(2 * M_PI);
    return deviation * (z * spex_loss_normal(z) + density) * (1 - sqrt(noise / (noise + variance)));
}

static size_t best_candidate(const struct gaussian *gaussian) {
    const struct spex_gp_candidates *candidates = &gaussian->candidates;
    double least = INFINITY, most = -1;
    double noise = gaussian->noise.variance / (gaussian->scale * gaussian->scale);
    size_t best = candidates->count;
    for (size_t c = 0; c < candidates->count; c++)
        least = fmin(least, candidates->means[c]);
    for (size_t c = 0; c < candidates->count; c++) {
        size_t known = spex_results_find(&gaussian->results, candidate_levels(gaussian, c));
        if (known != SPEX_RESULTS_NONE && (gaussian->results.configs[known].pending ||
                                           (gaussian->results.configs[known].failed >= FAILED &&
                                            !gaussian->results.configs[known].trials)))
            continue;
        double gain = improvement(candidates, c, least, noise);
        if (gain > most) {
            most = gain;
            best = c;
        }
    }
    return best;
}

/* It is taken to come out as expected. */
static void believe(struct gaussian *gaussian, size_t candidate) {
    struct spex_gp *gp = &gaussian->gp;
    if (gp->count == gp->room)
        return;
    size_t row = gp->count++;
    memcpy(gp->points + row * gp->dimensions,
           gaussian->candidates.points + candidate * gp->dimensions,
           gp->dimensions * sizeof(double));
    gp->losses[row] = gaussian->candidates.means[candidate];
    gp->noise[row] = gaussian->noise.variance / (gaussian->scale * gaussian->scale) + 1e-6;
    spex_gp_take(gp, row);
    spex_gp_whiten(gp, row);
    spex_gp_candidates_take(&gaussian->candidates, gp, row);
}

/* SPEX_RESULTS_NONE and no levels when there is nothing to propose. */
static bool propose(struct gaussian *gaussian, size_t *levels) {
    if (!gaussian->gp.dimensions || !refresh(gaussian))
        return false;
    size_t candidate = best_candidate(gaussian);
    if (candidate == gaussian->candidates.count)
        return false;
    gaussian->batch--;
    memcpy(levels, candidate_levels(gaussian, candidate),
           gaussian->space->parameter_count * sizeof(size_t));
    believe(gaussian, candidate);
    return true;
}

static bool repeat(struct gaussian *gaussian, size_t *levels) {
    return spex_race_repeat(&gaussian->loss, &gaussian->results, &gaussian->draw, gaussian->budget,
                            levels);
}

static bool choose(struct gaussian *gaussian, size_t *levels) {
    uint64_t planned = gaussian->results.planned;
    bool small = gaussian->standing <= SPEX_EFFORT_SMALL;
    if (planned < design_size(gaussian))
        return spex_lattice_next(&gaussian->lattice, &gaussian->results, levels) ||
               repeat(gaussian, levels);
    if (!small && (double)planned < SEARCH * (double)gaussian->budget && propose(gaussian, levels))
        return true;
    return !gaussian->error && repeat(gaussian, levels);
}

static int gaussian_next(void *state, struct spex_plan *plan) {
    struct gaussian *gaussian = state;
    if (gaussian->results.planned >= gaussian->budget)
        return 0;
    bool planned = choose(gaussian, plan->levels);
    if (!planned && gaussian->error)
        return gaussian->error;
    return spex_results_answer(&gaussian->results, planned, plan->levels);
}

static bool gaussian_stop_run(void *state, const struct spex_run *run) {
    const struct gaussian *gaussian = state;
    return spex_enough_run(&gaussian->enough, gaussian->space, run);
}

static void gaussian_run_finished(void *state, const struct spex_result *result) {
    struct gaussian *gaussian = state;
    spex_enough_learn(&gaussian->enough, gaussian->space, result);
    spex_results_finish(&gaussian->results, result);
    gaussian->finished++;
}

SPEX_POLICY(gaussian) = {
    SPEX_POLICY_NAMED(
        "gaussian",
        "few runs: where a model of the noisy results so far expects the best, then repeats"),
    .state_size = gaussian_state_size,
    .init = gaussian_init,
    .next = gaussian_next,
    .stop_run = gaussian_stop_run,
    .runs = gaussian_runs,
    .run_finished = gaussian_run_finished,
    .fini = gaussian_fini,
};
