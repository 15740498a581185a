/* SPDX-License-Identifier: MIT */
/* A Gaussian process is fitted to what was tried, as by the default policy, and looks at the rest in
 * batches. Seeds are fixed, so the same store gives the same report. */
#include "explore/findings/untried.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policies/explore/configurations.h"
#include "policies/explore/gaussian_process.h"

/* Fewer configurations with trials make no model; more than CONFIGS_MAX take too long. */
enum { CONFIGS_LEAST = 8, CONFIGS_MAX = 200, BATCH = 256, LOOKED = 2048 };

#define NORMAL_95 1.959964

/* Losses of the process are (loss - mean) / deviation; less is better. */
struct search {
    const struct spex_summary *summary;
    const struct spex_accuracy *accuracy;
    struct spex_untried *untried;
    struct spex_gp gp;
    struct spex_gp_candidates candidates;
    size_t *levels; /* of each candidate */
    double sign, mean, deviation;
    double best; /* loss */
    double most; /* expected improvement so far */
};

static double loss_of(const struct search *search, double value) {
    double loss = search->sign * (search->accuracy->ratios ? log(value) : value);
    return (loss - search->mean) / search->deviation;
}

static double value_of(const struct search *search, double loss) {
    double value = search->sign * (loss * search->deviation + search->mean);
    return search->accuracy->ratios ? exp(value) : value;
}

/* The variance of a configuration's mean loss. */
static double variance_of(const struct search *search, const struct spex_group *group) {
    double mean = group->criteria[0].mean;
    double error = spex_group_error(search->accuracy, group, 0);
    double slope = search->accuracy->ratios ? 1 / mean : 1;
    double variance = isfinite(error) ? pow(error * slope, 2)
                                      : SPEX_NOISE_UNKNOWN.variance / (double)group->trials;
    return variance / (search->deviation * search->deviation);
}

/* Sets mean and deviation of the losses. False when there are too few, or all are equal. */
static bool search_scale(struct search *search) {
    struct spex_prior all = {0};
    search->deviation = 1;
    for (size_t g = 0; g < search->summary->count; g++)
        if (search->summary->groups[g].trials)
            spex_prior_add(&all, loss_of(search, search->summary->groups[g].criteria[0].mean), 0);
    if (all.count < CONFIGS_LEAST || !(all.squares > 0))
        return false;
    search->mean = all.mean;
    search->deviation = sqrt(all.squares / (all.count - 1));
    return true;
}

static void search_observe(struct search *search) {
    struct spex_gp *gp = &search->gp;
    const struct spex_summary *summary = search->summary;
    size_t step = 1 + summary->count / (CONFIGS_MAX + 1);
    for (size_t g = 0; g < summary->count && gp->count < CONFIGS_MAX; g += step) {
        const struct spex_group *group = &summary->groups[g];
        if (!group->trials)
            continue;
        spex_gp_point(gp, group->levels, gp->points + gp->count * gp->dimensions);
        gp->losses[gp->count] = loss_of(search, group->criteria[0].mean);
        gp->noise[gp->count++] = variance_of(search, group) + 1e-6;
    }
    size_t all = gp->count;
    gp->count = all < SPEX_GP_FITTED ? all : SPEX_GP_FITTED;
    spex_gp_fit(gp, 5);
    gp->count = all;
    spex_gp_factorise(gp);
}

static void search_take(struct search *search, size_t candidate, double chance) {
    const size_t parameters = search->summary->space->parameter_count;
    double mean = search->candidates.means[candidate];
    double reach = NORMAL_95 * sqrt(fmax(search->candidates.variances[candidate], 0));
    double a = value_of(search, mean - reach), b = value_of(search, mean + reach);
    struct spex_untried *untried = search->untried;
    memcpy(untried->levels, search->levels + candidate * parameters,
           parameters * sizeof(*untried->levels));
    untried->expected = value_of(search, mean);
    untried->low = fmin(a, b);
    untried->high = fmax(a, b);
    untried->chance = chance;
}

/* Predicts the candidates, and starts a new batch. */
static void search_judge(struct search *search) {
    spex_gp_candidates_predict(&search->candidates, &search->gp);
    for (size_t c = 0; c < search->candidates.count; c++) {
        double deviation = sqrt(fmax(search->candidates.variances[c], 1e-12));
        double z = (search->best - search->candidates.means[c]) / deviation;
        double chance = erfc(-z / sqrt(2)) / 2;
        double gain = deviation * (z * chance + exp(-z * z / 2) / sqrt(2 * M_PI));
        if (gain > search->most) {
            search->most = gain;
            search_take(search, c, chance);
        }
    }
    search->candidates.count = 0;
}

static void search_look(struct search *search) {
    const struct spex_space *space = search->summary->space;
    uint64_t all = spex_space_configurations(space), looks = all < LOOKED ? all : LOOKED;
    struct spex_order order = spex_order_of(all, 1);
    for (uint64_t n = 0; n < looks; n++) {
        size_t place = search->candidates.count;
        size_t *levels = search->levels + place * space->parameter_count;
        uint64_t number = looks == all ? n : spex_order_at(&order, n);
        if (!spex_configuration_is_distinct(space, number, levels) ||
            spex_summary_find(search->summary, levels))
            continue;
        spex_gp_point(&search->gp, levels,
                      search->candidates.points + place * search->gp.dimensions);
        if (++search->candidates.count == BATCH)
            search_judge(search);
    }
    search_judge(search);
}

int spex_untried_find(const struct spex_summary *summary, const struct spex_accuracy *accuracy,
                      double best, struct spex_untried *untried) {
    const struct spex_space *space = summary->space;
    struct search search = {.summary = summary,
                            .accuracy = accuracy,
                            .untried = untried,
                            .sign = space->criteria[0].goal == SPEX_MAXIMISE ? -1 : 1,
                            .most = 0};
    *untried = (struct spex_untried){.levels = NULL};
    if (space->criterion_count > space->objective_count || !search_scale(&search))
        return 0;
    search.best = loss_of(&search, best);
    untried->levels = calloc(space->parameter_count, sizeof(*untried->levels));
    search.levels = calloc(BATCH * space->parameter_count, sizeof(*search.levels));
    int err = !untried->levels || !search.levels || spex_gp_init(&search.gp, space, CONFIGS_MAX) ||
                      spex_gp_candidates_init(&search.candidates, &search.gp, BATCH)
                  ? -ENOMEM
                  : 0;
    if (!err) {
        search_observe(&search);
        search_look(&search);
    }
    if (search.most == 0)
        spex_untried_free(untried);
    spex_gp_candidates_free(&search.candidates);
    spex_gp_free(&search.gp);
    free(search.levels);
    return err;
}

void spex_untried_free(struct spex_untried *untried) {
    free(untried->levels);
    untried->levels = NULL;
}
