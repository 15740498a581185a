/* SPDX-License-Identifier: MIT */
/* Bayesian optimisation for noisy programs. First come configurations that fill the space evenly.
 * Then a Gaussian process, fitted to the losses so far, proposes those with the greatest expected
 * improvement, with regard to how little one noisy trial tells. Two early repeats tell how much
 * trials vary. Where they do, the last runs repeat the best configurations, as long as that is
 * expected to gain more than a proposal. In a space of few configurations, all are tried before the
 * repeats.
 *
 * The process is fitted again when there are about 1/12 more results. In between, a proposal is
 * assumed to come out as the process expects (Ginsbourger, Le Riche and Carraro's "kriging
 * believer", 2010), so that runs at the same time do not propose the same region. */
#include "policies/explore/effort.h"
#include "policies/explore/gaussian_process.h"
#include "policies/explore/screening.h"
#include "policies/explore/search.h"

/* Shares of the budget after which proposals begin, and after which, where trials vary, the best are
 * repeated while that is expected to gain more than proposals. */
#define DESIGN 0.15
#define SEARCH 0.56

/* A search has few results, of which a smoother process makes more. */
#define USUAL 1.5

/* A configuration with so many failed and no successful runs is not tried again; a single failure
 * may be chance. */
enum { FAILED = 2 };

/* Candidates are chosen in two steps. Screening computes only the expected loss, of the whole space
 * if it has at most SPEX_SCREENED configurations, else of RANDOM ones and what is like the
 * NEIGHBOURS_OF best. For the CANDIDATES that are kept, variances are computed as well. */
enum { RANDOM = 768, CANDIDATES = 224, NEIGHBOURS_OF = 6 };

struct gaussian {
    struct spex_search search;
    struct spex_gp gp;
    struct spex_gp_candidates candidates;
    struct spex_noise noise;
    uint64_t distinct; /* distinct configurations */
    uint64_t effort;   /* runs, as far as time does not matter */
    uint64_t budget;   /* runs, as far as is known */
    uint64_t finished;
    uint64_t fitted;      /* `finished` when the lengths were last fitted */
    bool untried;         /* propose what was not tried alone */
    uint64_t batch;       /* proposals left before the next fit */
    double centre, scale; /* the process sees (loss - centre) / scale */
    struct spex_screening screening;
    size_t *levels;   /* levels of each candidate */
    double *expected; /* scratch: expected loss of each screened configuration */
    size_t *order;    /* configurations by loss, then SPEX_RESULTS_NONE */
    double *losses;   /* loss of each configuration */
    double *solution; /* scratch, for spex_gp_solve */
    size_t room;      /* configurations that `order` and `losses` have room for */
    int error;        /* -ENOMEM from a function that returns no error */
};

static size_t gaussian_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct gaussian);
}

static void gaussian_fini(void *state) {
    struct gaussian *gaussian = state;
    spex_search_free(&gaussian->search);
    spex_gp_free(&gaussian->gp);
    spex_gp_candidates_free(&gaussian->candidates);
    spex_screening_free(&gaussian->screening);
    free(gaussian->expected);
    free(gaussian->levels);
    free(gaussian->order);
    free(gaussian->losses);
    free(gaussian->solution);
}

static int gaussian_init(void *state, const struct spex_space *space) {
    struct gaussian *gaussian = state;
    *gaussian = (struct gaussian){.budget = 0};
    spex_search_init(&gaussian->search, space);
    gaussian->search.results.spread = gaussian->search.refers = true;
    gaussian->expected = calloc(SPEX_SCREENED, sizeof(double));
    gaussian->levels = calloc(CANDIDATES * space->parameter_count, sizeof(size_t));
    gaussian->solution = calloc(SPEX_GP_OBSERVATIONS, sizeof(double));
    if (spex_screening_init(&gaussian->screening, space, &gaussian->search.draw) ||
        !gaussian->expected || !gaussian->levels || !gaussian->solution ||
        spex_gp_init(&gaussian->gp, space, SPEX_GP_OBSERVATIONS + SPEX_GP_OBSERVATIONS / 4) ||
        spex_gp_candidates_init(&gaussian->candidates, &gaussian->gp, CANDIDATES)) {
        gaussian_fini(gaussian);
        return -ENOMEM;
    }
    gaussian->gp.usual = USUAL;
    gaussian->distinct = spex_configurations_distinct(space, gaussian->screening.scratch);
    gaussian->effort = gaussian->budget = spex_effort(space, gaussian->distinct);
    return 0;
}

static uint64_t gaussian_runs(const void *state) {
    return ((const struct gaussian *)state)->budget;
}

/* Configurations to run before the first proposal: enough for a model of so many dimensions, at
 * most half the budget; all of a small space. */
static uint64_t gaussian_design_size(const struct gaussian *gaussian) {
    double few = 2 * (double)spex_effort_dimensions(gaussian->search.space) + 4;
    double size = fmin(fmax(DESIGN * (double)gaussian->budget, few), (double)gaussian->budget / 2);
    if (gaussian->distinct <= SPEX_EFFORT_SMALL)
        return gaussian->distinct;
    return (uint64_t)fmax(size, 1);
}

/* Computes the losses of all configurations, with the current weights, and their order by loss
 * (insertion sort: results change little between calls). False when none has a loss, or after
 * -ENOMEM. */
static bool gaussian_rank(struct gaussian *gaussian) {
    struct spex_results *results = &gaussian->search.results;
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
    spex_loss_learn(&gaussian->search.loss, results);
    size_t ranked = 0;
    for (size_t c = 0; c < results->count; c++) {
        const struct spex_results_config *known = &results->configs[c];
        gaussian->losses[c] = spex_loss_of(&gaussian->search.loss, results, c);
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

static size_t gaussian_ranked_count(const struct gaussian *gaussian) {
    size_t count = 0;
    while (count < gaussian->search.results.count && gaussian->order[count] != SPEX_RESULTS_NONE)
        count++;
    return count;
}

/* Appends a configuration to the observations of the process, with the variance of its mean. The
 * addend keeps the covariance matrix positive definite. */
static void gaussian_observe(struct gaussian *gaussian, size_t config) {
    struct spex_gp *gp = &gaussian->gp;
    const struct spex_results_config *known = &gaussian->search.results.configs[config];
    size_t row = gp->count++;
    struct spex_race_entry entry = spex_race_entry(&gaussian->noise, &gaussian->search.loss,
                                                   &gaussian->search.results, config);
    double trials = entry.trials > 0 ? entry.trials : (double)known->failed;
    spex_gp_point(gp, spex_results_levels(&gaussian->search.results, config),
                  gp->points + row * gp->dimensions);
    gp->losses[row] = (entry.mean - gaussian->centre) / gaussian->scale;
    double deviation = sqrt(entry.variance / trials) / gaussian->scale;
    gp->noise[row] = deviation * deviation + 1e-6;
}

/* Makes `most` configurations the observations: half of them the best, the others evenly spaced by
 * rank among the rest. */
static void gaussian_observe_some(struct gaussian *gaussian, size_t most) {
    size_t ranked = gaussian_ranked_count(gaussian), best = ranked < most ? ranked : most / 2;
    gaussian->gp.count = 0;
    for (size_t i = 0; i < best; i++)
        gaussian_observe(gaussian, gaussian->order[i]);
    for (size_t i = 0; best < ranked && i < most - best; i++)
        gaussian_observe(gaussian, gaussian->order[best + i * (ranked - best) / (most - best)]);
}

/* Centres losses at their median and scales them by the median's distance from the least, or by the
 * whole range where that is 0. */
static void gaussian_scale_losses(struct gaussian *gaussian) {
    size_t ranked = gaussian_ranked_count(gaussian);
    double least = gaussian->losses[gaussian->order[0]];
    gaussian->centre = gaussian->losses[gaussian->order[ranked / 2]];
    gaussian->scale = gaussian->centre - least;
    if (!(gaussian->scale > 1e-9))
        gaussian->scale = gaussian->losses[gaussian->order[ranked - 1]] - least;
    if (!(gaussian->scale > 1e-9))
        gaussian->scale = 1;
}

/* Fits the lengths again when there are half as many results more, since that takes most of the
 * time; the factor every time. */
static void gaussian_fit(struct gaussian *gaussian) {
    gaussian_scale_losses(gaussian);
    if (gaussian->finished >= gaussian->fitted + gaussian->fitted / 2) {
        gaussian_observe_some(gaussian, SPEX_GP_FITTED);
        spex_gp_fit(&gaussian->gp, gaussian->fitted ? 3 : 5);
        gaussian->fitted = gaussian->finished;
    }
    gaussian_observe_some(gaussian, SPEX_GP_OBSERVATIONS);
    spex_gp_factorise(&gaussian->gp);
}

static size_t *gaussian_candidate_levels(const struct gaussian *gaussian, size_t candidate) {
    return gaussian->levels + candidate * gaussian->search.space->parameter_count;
}

/* Screens all configurations, or some. */
static void gaussian_screen_all(struct gaussian *gaussian) {
    const struct spex_space *space = gaussian->search.space;
    struct spex_screening *screening = &gaussian->screening;
    uint64_t all = spex_space_configurations(space);
    size_t ranked = gaussian_ranked_count(gaussian);
    bool every = all <= SPEX_SCREENED;
    screening->count = 0;
    for (size_t i = 0; !every && i < NEIGHBOURS_OF && i < ranked; i++) {
        const size_t *levels = spex_results_levels(&gaussian->search.results, gaussian->order[i]);
        if (space->listed_count)
            spex_screening_nearest(screening, levels);
        else
            spex_screening_neighbours(screening, levels, gaussian->gp.parameters,
                                      gaussian->gp.dimensions);
    }
    for (uint64_t n = 0; n < (every ? all : RANDOM); n++)
        spex_screening_number(screening, every ? n : spex_draw_below(&gaussian->search.draw, all));
}

/* Sets places[] to the screened configurations of least expected loss, ascending, at most `most`.
 * Returns how many. */
static size_t gaussian_best_expected(const struct gaussian *gaussian, size_t count, size_t *places,
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

/* Makes the screened configurations of least expected loss the candidates, and a quarter of them
 * random others, so that uncertain regions are proposed as well. */
static void gaussian_choose_candidates(struct gaussian *gaussian) {
    size_t count = gaussian->screening.count;
    struct spex_gp_candidates *candidates = &gaussian->candidates;
    struct spex_gp *gp = &gaussian->gp;
    size_t places[CANDIDATES] = {0};
    spex_gp_solve(gp, gaussian->solution);
    for (size_t i = 0; i < count; i++) {
        spex_gp_point(gp, spex_screened(&gaussian->screening, i), candidates->points);
        gaussian->expected[i] = spex_gp_expected(gp, gaussian->solution, candidates->points);
    }
    size_t kept = gaussian_best_expected(gaussian, count, places,
                                         count < CANDIDATES ? CANDIDATES : CANDIDATES * 3 / 4);
    while (kept < count && kept < CANDIDATES)
        places[kept++] = spex_draw_below(&gaussian->search.draw, count);
    for (size_t i = 0; i < kept; i++) {
        memcpy(gaussian_candidate_levels(gaussian, i),
               spex_screened(&gaussian->screening, places[i]),
               gaussian->search.space->parameter_count * sizeof(size_t));
        spex_gp_point(gp, gaussian_candidate_levels(gaussian, i),
                      candidates->points + i * gp->dimensions);
    }
    candidates->count = kept;
}

/* Fits the process and chooses candidates again when the batch is used up. False when no proposal
 * can be made. */
static bool gaussian_refresh(struct gaussian *gaussian) {
    if (gaussian->batch > 0)
        return true;
    if (gaussian->search.loss.objectives > 1)
        spex_loss_turn(&gaussian->search.loss, &gaussian->search.draw);
    if (!gaussian_rank(gaussian))
        return false;
    gaussian->noise = spex_race_noise(&gaussian->search.loss, &gaussian->search.results);
    gaussian_fit(gaussian);
    gaussian_screen_all(gaussian);
    gaussian_choose_candidates(gaussian);
    spex_gp_candidates_predict(&gaussian->candidates, &gaussian->gp);
    gaussian->batch = 1 + gaussian->finished / (gaussian->search.loss.objectives > 1 ? 32 : 12);
    if (gaussian->batch > SPEX_GP_OBSERVATIONS / 4)
        gaussian->batch = SPEX_GP_OBSERVATIONS / 4;
    return !gaussian->error;
}

/* Expected improvement of one noisy trial, reduced the more the noise outweighs the uncertainty
 * (augmented expected improvement: Huang and others, Global Optimization of Stochastic Black-Box
 * Systems via Sequential Kriging Meta-Models, 2006). */
static double gaussian_improvement(const struct spex_gp_candidates *candidates, size_t c,
                                   double least, double noise) {
    double variance = fmax(candidates->variances[c], 1e-12), deviation = sqrt(variance);
    double z = (least - candidates->means[c]) / deviation;
    double density = exp(-z * z / 2) / sqrt(2 * M_PI);
    return deviation * (z * spex_loss_normal(z) + density) * (1 - sqrt(noise / (noise + variance)));
}

/* Whether a candidate may be proposed: it is not under way and has not failed. */
static bool gaussian_is_open(const struct gaussian *gaussian, size_t candidate) {
    const struct spex_results *results = &gaussian->search.results;
    size_t config = spex_results_find(results, gaussian_candidate_levels(gaussian, candidate));
    if (config == SPEX_RESULTS_NONE)
        return true;
    const struct spex_results_config *known = &results->configs[config];
    return !gaussian->untried && !known->pending && !spex_results_was_last(results, config) &&
           (known->failed < FAILED || known->trials);
}

/* The candidate with the greatest expected improvement, which is set; candidates.count when there is
 * none. */
static size_t gaussian_best_candidate(const struct gaussian *gaussian, double *improvement) {
    const struct spex_gp_candidates *candidates = &gaussian->candidates;
    double least = INFINITY, most = -1;
    double noise = gaussian->noise.variance / (gaussian->scale * gaussian->scale);
    size_t best = candidates->count;
    for (size_t c = 0; c < candidates->count; c++)
        least = fmin(least, candidates->means[c]);
    for (size_t c = 0; c < candidates->count; c++) {
        if (!gaussian_is_open(gaussian, c))
            continue;
        double gain = gaussian_improvement(candidates, c, least, noise);
        if (gain > most) {
            most = gain;
            best = c;
        }
    }
    *improvement = most;
    return best;
}

/* Adds the proposal to the observations with its expected loss ("kriging believer"). */
static void gaussian_believe(struct gaussian *gaussian, size_t candidate) {
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

/* The expected improvement of the next proposal, as a loss; 0: there is none. */
static double gaussian_expects(struct gaussian *gaussian) {
    double improvement;
    if (!gaussian->gp.dimensions || !gaussian_refresh(gaussian) ||
        gaussian_best_candidate(gaussian, &improvement) == gaussian->candidates.count)
        return 0;
    return improvement * gaussian->scale;
}

/* Sets `levels` to the next proposal; false when there is none. */
static bool gaussian_propose(struct gaussian *gaussian, size_t *levels) {
    double improvement;
    if (!gaussian->gp.dimensions || !gaussian_refresh(gaussian))
        return false;
    size_t candidate = gaussian_best_candidate(gaussian, &improvement);
    if (candidate == gaussian->candidates.count)
        return false;
    gaussian->batch--;
    memcpy(levels, gaussian_candidate_levels(gaussian, candidate),
           gaussian->search.space->parameter_count * sizeof(size_t));
    gaussian_believe(gaussian, candidate);
    return true;
}

/* Proposes a configuration that was not tried, by the model if it has one. */
static bool gaussian_propose_untried(struct gaussian *gaussian, size_t *levels) {
    gaussian->untried = true;
    bool proposed = gaussian_propose(gaussian, levels);
    gaussian->untried = false;
    return proposed || (!gaussian->error && spex_search_untried(&gaussian->search, levels));
}

/* Repeats the leader or its challenger, or proposes, whichever is expected to improve more on what
 * is recommended. A leader of one trial may be an outlier. */
static bool gaussian_weigh(struct gaussian *gaussian, size_t *levels) {
    struct spex_search *search = &gaussian->search;
    spex_loss_learn(&search->loss, &search->results);
    struct spex_race race =
        spex_race_run(&search->loss, &search->results, spex_race_trials_max(gaussian->budget));
    if (race.leader == SPEX_RESULTS_NONE)
        return false;
    const struct spex_results_config *leader = &search->results.configs[race.leader];
    bool outlier = leader->trials + leader->pending < 2 &&
                   !spex_results_was_last(&search->results, race.leader);
    size_t again = outlier
                       ? race.leader
                       : spex_race_spread(&race, &search->results,
                                          spex_race_next(&race, &search->loss, &search->results));
    double gain = spex_race_gain(&race, &search->loss, &search->results, again);
    if (!outlier && gaussian_expects(gaussian) > gain && gaussian_propose(gaussian, levels))
        return true;
    return !gaussian->error && (outlier || gain > 0) && spex_search_again(search, again, levels);
}

/* The last runs of a noisy search. With limits or several objectives, what one more trial is worth
 * is not known: the race goes on until the leader is clear. So it does when all is tried. */
static bool gaussian_finish(struct gaussian *gaussian, bool small, size_t *levels) {
    bool planned = small || gaussian->search.space->criterion_count > 1
                       ? spex_search_repeat(&gaussian->search, gaussian->budget, levels)
                       : gaussian_weigh(gaussian, levels);
    return planned || (!gaussian->error && gaussian_propose_untried(gaussian, levels));
}

/* An exact objective needs no repeats: all runs are for what was not tried. */
static bool gaussian_plan(struct gaussian *gaussian, size_t *levels) {
    struct spex_search *search = &gaussian->search;
    bool small = gaussian->distinct <= SPEX_EFFORT_SMALL;
    bool designed = search->results.count >= gaussian_design_size(gaussian);
    if (spex_search_measure(search, gaussian->budget, designed, levels) ||
        spex_search_confirm(search, gaussian->budget, levels) ||
        (!designed && spex_search_untried(search, levels)))
        return true;
    if (spex_race_is_exact(&search->results))
        return gaussian_propose_untried(gaussian, levels);
    if (!small && (double)search->results.planned < SEARCH * (double)gaussian->budget &&
        gaussian_propose(gaussian, levels))
        return true;
    return !gaussian->error && gaussian_finish(gaussian, small, levels);
}

static int gaussian_choose(void *state, struct spex_plan *plan) {
    struct gaussian *gaussian = state;
    return gaussian_plan(gaussian, plan->levels) ? 1 : gaussian->error;
}

static int gaussian_next(void *state, struct spex_plan *plan) {
    struct gaussian *gaussian = state;
    gaussian->budget = spex_effort_now(gaussian->search.space, plan, gaussian->effort);
    return spex_search_next(gaussian, gaussian->budget, plan, gaussian_choose);
}

static void gaussian_run_finished(void *state, const struct spex_result *result) {
    struct gaussian *gaussian = state;
    spex_search_run_finished(state, result);
    gaussian->finished++;
}

SPEX_POLICY(gaussian) = {
    SPEX_POLICY_NAMED(
        "gaussian",
        "few runs: where a model of the noisy results so far expects the best, then repeats"),
    .state_size = gaussian_state_size,
    .init = gaussian_init,
    .next = gaussian_next,
    .stop_run = spex_search_stop_run,
    .runs = gaussian_runs,
    .run_finished = gaussian_run_finished,
    .fini = gaussian_fini,
};
