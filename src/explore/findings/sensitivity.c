/* SPDX-License-Identifier: MIT */
#include "explore/findings/sensitivity.h"

#include <stdlib.h>
#include <string.h>

#include "policies/explore/draw.h"
#include "policies/explore/gaussian_process.h"
#include "policies/explore/noise.h"

/* Pairs of configurations that integrals are taken over, and those of them that means are;
 * bootstrap samples; configurations with trials that are looked at. */
enum { PAIRS = 160, BASES = 40, SAMPLES = 24, CONFIGS_MAX = 200 };

/* Of a parameter, at most: on its own, and with another one. */
enum { LEVELS = 16, LEVELS_OF_PAIR = 6 };

/* A configuration as the process has it. */
struct observation {
    const size_t *levels;
    double loss;
    double variance;
};

/* Configurations a and b, drawn evenly, and what is expected of a. */
struct analysis {
    const struct spex_space *space;
    struct observation *observations;
    size_t count;
    struct spex_gp gp;
    double *solution;
    double *point;
    size_t *a, *b; /* PAIRS of each, one after the other */
    size_t *bases; /* BASES of them */
    size_t *mixed;
    double at_a[PAIRS];
    double variance; /* of what is expected */
};

static void analysis_free(struct analysis *analysis) {
    spex_gp_free(&analysis->gp);
    free(analysis->observations);
    free(analysis->solution);
    free(analysis->point);
    free(analysis->a);
    free(analysis->bases);
    free(analysis->mixed);
}

static bool all_positive(const struct spex_sensitivity_input *inputs, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (inputs[i].trials && !(inputs[i].mean > 0))
            return false;
    return true;
}

/* Scaled to a variance of 1. False when they are all the same. */
static bool scale(struct analysis *analysis) {
    struct spex_prior all = {0};
    for (size_t i = 0; i < analysis->count; i++)
        spex_prior_add(&all, analysis->observations[i].loss, 0);
    double variance = all.squares / (all.count - 1);
    if (!(variance > 0))
        return false;
    for (size_t i = 0; i < analysis->count; i++) {
        struct observation *observation = &analysis->observations[i];
        observation->loss = (observation->loss - all.mean) / sqrt(variance);
        observation->variance /= variance;
    }
    return true;
}

/* With many, an even choice of them. */
static int observe(struct analysis *analysis, const struct spex_sensitivity_input *inputs,
                   size_t count) {
    struct spex_noise_sums sums = {0};
    bool ratios = all_positive(inputs, count);
    size_t useful = 0, seen = 0;
    for (size_t i = 0; i < count; i++) {
        double slope = ratios && inputs[i].trials ? 1 / inputs[i].mean : 1;
        useful += inputs[i].trials > 0;
        if (inputs[i].trials)
            spex_noise_add(&sums, (double)inputs[i].trials, inputs[i].squares * slope * slope);
    }
    struct spex_noise noise = spex_noise_of(&sums);
    size_t step = 1 + useful / (CONFIGS_MAX + 1);
    for (size_t i = 0; i < count; i++) {
        if (!inputs[i].trials || seen++ % step)
            continue;
        double slope = ratios ? 1 / inputs[i].mean : 1, trials = (double)inputs[i].trials;
        double variance = spex_noise_variance(&noise, trials, inputs[i].squares * slope * slope);
        analysis->observations[analysis->count++] = (struct observation){
            inputs[i].levels, ratios ? log(inputs[i].mean) : inputs[i].mean, variance / trials};
    }
    return analysis->count >= SPEX_SENSITIVITY_LEAST && scale(analysis) ? 0 : -ENODATA;
}

/* The values of each parameter are as evenly taken as can be (a Latin hypercube): so few
 * configurations would else say by chance how much varies in all, and what the others do in the
 * mean. */
static int draw_evenly(const struct spex_space *space, struct spex_draw *draw, size_t count,
                       size_t *levels) {
    size_t *order = calloc(count, sizeof(*order));
    if (!order)
        return -ENOMEM;
    for (size_t p = 0; p < space->parameter_count; p++) {
        for (size_t i = 0; i < count; i++) {
            size_t j = spex_draw_below(draw, i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        for (size_t i = 0; i < count; i++)
            levels[i * space->parameter_count + p] = order[i] * space->parameters[p].count / count;
    }
    free(order);
    return 0;
}

/* As they are if they are allowed, else another one; the space has some, since there were
 * trials. */
static void draw_configuration(const struct spex_space *space, struct spex_draw *draw,
                               const size_t *otherwise, size_t *levels) {
    if (spex_space_settle(space, levels))
        return;
    for (int tries = 0; tries < 100; tries++) {
        for (size_t p = 0; p < space->parameter_count; p++)
            levels[p] = spex_draw_below(draw, space->parameters[p].count);
        if (spex_space_settle(space, levels))
            return;
    }
    memcpy(levels, otherwise, space->parameter_count * sizeof(*levels));
}

static int prepare(struct analysis *analysis, const struct spex_space *space,
                   const struct spex_sensitivity_input *inputs, size_t count) {
    size_t parameters = space->parameter_count;
    struct spex_draw draw = {1};
    *analysis = (struct analysis){.space = space};
    analysis->observations = calloc(count + 1, sizeof(*analysis->observations));
    analysis->solution = calloc(CONFIGS_MAX + 1, sizeof(double));
    analysis->point = calloc(parameters, sizeof(double));
    analysis->a = calloc(2 * PAIRS * parameters, sizeof(size_t));
    analysis->bases = calloc(BASES * parameters, sizeof(size_t));
    analysis->mixed = calloc(parameters, sizeof(size_t));
    if (!analysis->observations || !analysis->solution || !analysis->point || !analysis->a ||
        !analysis->bases || !analysis->mixed || spex_gp_init(&analysis->gp, space, CONFIGS_MAX + 1))
        return -ENOMEM;
    analysis->b = analysis->a + PAIRS * parameters;
    int err = observe(analysis, inputs, count);
    err = err ? err : draw_evenly(space, &draw, 2 * PAIRS, analysis->a);
    err = err ? err : draw_evenly(space, &draw, BASES, analysis->bases);
    for (size_t i = 0; !err && i < 2 * PAIRS + BASES; i++) {
        const size_t *otherwise = analysis->observations[i % analysis->count].levels;
        size_t *levels = i < 2 * PAIRS ? analysis->a + i * parameters
                                       : analysis->bases + (i - 2 * PAIRS) * parameters;
        draw_configuration(space, &draw, otherwise, levels);
    }
    return err;
}

static double expected(struct analysis *analysis, const size_t *levels) {
    spex_gp_point(&analysis->gp, levels, analysis->point);
    return spex_gp_expected(&analysis->gp, analysis->solution, analysis->point);
}

/* To all observations, or to as many drawn from them; a repeated one is the same configuration
 * again, with no more said about it than once. */
static void fit(struct analysis *analysis, struct spex_draw *draw) {
    struct spex_gp *gp = &analysis->gp;
    gp->count = 0;
    for (size_t i = 0; i < analysis->count; i++) {
        size_t from = draw ? spex_draw_below(draw, analysis->count) : i;
        const struct observation *observation = &analysis->observations[from];
        spex_gp_point(gp, observation->levels, gp->points + gp->count * gp->dimensions);
        gp->losses[gp->count] = observation->loss;
        gp->noise[gp->count++] = observation->variance + 1e-6;
    }
    if (!draw) {
        size_t all = gp->count;
        gp->count = all < SPEX_GP_FITTED ? all : SPEX_GP_FITTED;
        spex_gp_fit(gp, 5);
        gp->count = all;
    }
    spex_gp_factorise(gp);
    spex_gp_solve(gp, analysis->solution);
}

static void integrate(struct analysis *analysis) {
    struct spex_prior all = {0};
    size_t parameters = analysis->space->parameter_count;
    for (size_t i = 0; i < PAIRS; i++) {
        analysis->at_a[i] = expected(analysis, analysis->a + i * parameters);
        spex_prior_add(&all, analysis->at_a[i], 0);
        spex_prior_add(&all, expected(analysis, analysis->b + i * parameters), 0);
    }
    analysis->variance = all.squares / (all.count - 1);
}

struct effects {
    double main;
    double total;
};

/* The place-th of some levels of a parameter: the middle ones of equal parts. Ends would be too
 * many among few, and make effects look larger than they are. */
static size_t some_level(const struct spex_space *space, size_t parameter, size_t place,
                         size_t of) {
    size_t count = space->parameters[parameter].count;
    return (2 * place + 1) * count / (2 * of);
}

static size_t some_levels(const struct spex_space *space, size_t parameter, size_t most) {
    size_t count = space->parameters[parameter].count;
    return count < most ? count : most;
}

/* What is expected in the mean over the space with these levels; the same configurations are taken
 * for all levels, so that what others do does not add to the differences. */
static double conditional_mean(struct analysis *analysis, size_t one, size_t level_one,
                               size_t other, size_t level_other) {
    size_t parameters = analysis->space->parameter_count;
    double sum = 0;
    for (size_t i = 0; i < BASES; i++) {
        const size_t *base = analysis->bases + i * parameters;
        memcpy(analysis->mixed, base, parameters * sizeof(*base));
        analysis->mixed[one] = level_one;
        analysis->mixed[other] = level_other;
        bool allowed = spex_space_settle(analysis->space, analysis->mixed);
        sum += expected(analysis, allowed ? analysis->mixed : base);
    }
    return sum / BASES;
}

/* The variance of that between levels, as a share of all. */
static double main_effect(struct analysis *analysis, size_t one, size_t other, size_t most) {
    const struct spex_space *space = analysis->space;
    size_t ones = some_levels(space, one, most),
           others = one == other ? 1 : some_levels(space, other, most);
    struct spex_prior means = {0};
    for (size_t i = 0; i < ones; i++)
        for (size_t j = 0; j < others; j++) {
            size_t level_one = some_level(space, one, i, ones);
            size_t level_other = one == other ? level_one : some_level(space, other, j, others);
            spex_prior_add(&means, conditional_mean(analysis, one, level_one, other, level_other),
                           0);
        }
    return analysis->variance > 0 ? fmin(means.squares / means.count / analysis->variance, 1) : 0;
}

/* Jansen's estimator (Saltelli and others, Variance Based Sensitivity Analysis of Model Output,
 * 2010, table 2): how much changes when the parameter alone does. */
static double total_effect(struct analysis *analysis, size_t parameter) {
    size_t parameters = analysis->space->parameter_count;
    double sum = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        memcpy(analysis->mixed, analysis->a + i * parameters, parameters * sizeof(size_t));
        analysis->mixed[parameter] = analysis->b[i * parameters + parameter];
        if (!spex_space_settle(analysis->space, analysis->mixed))
            continue;
        double changed = analysis->at_a[i] - expected(analysis, analysis->mixed);
        sum += changed * changed;
    }
    return analysis->variance > 0 ? fmin(sum / (2 * PAIRS * analysis->variance), 1) : 0;
}

static struct effects effects_of(struct analysis *analysis, size_t parameter) {
    if (analysis->space->parameters[parameter].count < 2)
        return (struct effects){0, 0};
    double main = main_effect(analysis, parameter, parameter, LEVELS);
    return (struct effects){main, fmax(main, total_effect(analysis, parameter))};
}

static int ascending(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* The basic bootstrap's interval is not within 0 and 1; that by percentiles is. */
static struct spex_sensitivity_share share_of(double value, double *samples) {
    qsort(samples, SAMPLES, sizeof(*samples), ascending);
    return (struct spex_sensitivity_share){value, fmin(samples[0], value),
                                           fmax(samples[SAMPLES - 1], value)};
}

/* Row 0 is of all observations. */
static void sample(struct analysis *analysis, struct effects *effects) {
    size_t parameters = analysis->space->parameter_count;
    struct spex_draw draw = {2};
    for (size_t s = 0; s <= SAMPLES; s++) {
        fit(analysis, s ? &draw : NULL);
        integrate(analysis);
        for (size_t p = 0; p < parameters; p++)
            effects[s * parameters + p] = effects_of(analysis, p);
    }
}

int spex_sensitivity_of(const struct spex_space *space, const struct spex_sensitivity_input *inputs,
                        size_t count, struct spex_sensitivity *sensitivities) {
    size_t parameters = space->parameter_count;
    double mains[SAMPLES], totals[SAMPLES];
    struct analysis analysis;
    struct effects *effects = calloc((SAMPLES + 1) * parameters, sizeof(*effects));
    int err = effects ? prepare(&analysis, space, inputs, count) : -ENOMEM;
    if (!effects)
        return err;
    if (!err)
        sample(&analysis, effects);
    for (size_t p = 0; !err && p < parameters; p++) {
        for (size_t s = 0; s < SAMPLES; s++) {
            mains[s] = effects[(s + 1) * parameters + p].main;
            totals[s] = effects[(s + 1) * parameters + p].total;
        }
        sensitivities[p] = (struct spex_sensitivity){share_of(effects[p].main, mains),
                                                     share_of(effects[p].total, totals)};
    }
    analysis_free(&analysis);
    free(effects);
    return err;
}

int spex_sensitivity_pair(const struct spex_space *space,
                          const struct spex_sensitivity_input *inputs, size_t count, size_t one,
                          size_t other, struct spex_sensitivity_share *share) {
    double samples[SAMPLES], value = 0;
    struct spex_draw draw = {2};
    struct analysis analysis;
    int err = prepare(&analysis, space, inputs, count);
    for (size_t s = 0; !err && s <= SAMPLES; s++) {
        fit(&analysis, s ? &draw : NULL);
        integrate(&analysis);
        double together = main_effect(&analysis, one, other, LEVELS_OF_PAIR) -
                          main_effect(&analysis, one, one, LEVELS_OF_PAIR) -
                          main_effect(&analysis, other, other, LEVELS_OF_PAIR);
        if (s)
            samples[s - 1] = fmax(together, 0);
        else
            value = fmax(together, 0);
    }
    if (!err)
        *share = share_of(value, samples);
    analysis_free(&analysis);
    return err;
}
