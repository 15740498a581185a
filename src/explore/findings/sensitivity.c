/* SPDX-License-Identifier: MIT */
/* Functional analysis of variance of a Gaussian process that is fitted to the trials. Main effects
 * are variances of conditional means, total effects come from Jansen's estimator; both are Monte
 * Carlo integrals over fixed configurations. Bootstrap samples of the configurations give the
 * intervals; they use the lengths fitted to all of them. Seeds are fixed, so the same store gives
 * the same report. */
#include "explore/findings/sensitivity.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascending.h"
#include "policies/explore/draw.h"
#include "policies/explore/gaussian_process.h"
#include "policies/explore/noise.h"

/* PAIRS of configurations for the integrals, BASES for conditional means, bootstrap SAMPLES, and
 * the most configurations with trials that the process is fitted to. */
enum { PAIRS = 160, BASES = 40, SAMPLES = 24, CONFIGS_MAX = 200 };

/* Most levels of a parameter in conditional means: by itself, and of each of two. */
enum { LEVELS = 16, LEVELS_OF_PAIR = 6 };

/* A configuration as an observation of the process. */
struct observation {
    const size_t *levels;
    double loss;
    double variance;
};

/* The fitted process, and the configurations of the integrals: a and b drawn evenly. */
struct analysis {
    const struct spex_space *space;
    struct observation *observations;
    size_t count;
    struct spex_gp gp;
    double *solution;
    double *point;
    size_t *a, *b; /* levels of PAIRS configurations each, contiguous */
    size_t *bases; /* levels of BASES configurations */
    size_t *mixed;
    double at_a[PAIRS];
    double variance; /* of the predicted means */
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

/* Positive values are analysed by their logarithms: effects that multiply add up. */
static bool inputs_positive(const struct spex_sensitivity_input *inputs, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (inputs[i].trials && !(inputs[i].mean > 0))
            return false;
    return true;
}

/* Scales losses to a mean of 0 and a variance of 1. False when all are equal. */
static bool analysis_scale(struct analysis *analysis) {
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

/* Makes the configurations with trials the observations: at most CONFIGS_MAX, evenly chosen. */
static int analysis_observe(struct analysis *analysis, const struct spex_sensitivity_input *inputs,
                            size_t count) {
    struct spex_noise_sums sums = {0};
    bool ratios = inputs_positive(inputs, count);
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
    return analysis->count >= SPEX_SENSITIVITY_LEAST && analysis_scale(analysis) ? 0 : -ENODATA;
}

/* Draws configurations as a Latin hypercube: each parameter's levels occur equally often, which
 * reduces the variance of the integrals with so few configurations. */
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

/* Replaces a configuration that is not allowed by a random allowed one; if none is found, by
 * `otherwise`, a configuration that has had trials. */
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

/* Allocates everything and draws the configurations of the integrals. After an error the caller
 * frees what was allocated. `b` is the second half of `a`'s array. */
static int analysis_prepare(struct analysis *analysis, const struct spex_space *space,
                            const struct spex_sensitivity_input *inputs, size_t count) {
    size_t parameters = space->parameter_count;
    struct spex_draw draw = {1};
    *analysis = (struct analysis){.space = space};
    if (space->listed_count) /* nothing between what is listed exists */
        return -ENODATA;
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
    int err = analysis_observe(analysis, inputs, count);
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

/* The process's prediction for a configuration; O(observations). */
static double analysis_expected(struct analysis *analysis, const size_t *levels) {
    spex_gp_point(&analysis->gp, levels, analysis->point);
    return spex_gp_expected(&analysis->gp, analysis->solution, analysis->point);
}

/* Fits the process to all observations or, given `draw`, to a bootstrap sample of them. A repeated
 * observation adds no weight beyond that of its noise. */
static void analysis_fit(struct analysis *analysis, struct spex_draw *draw) {
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

/* Predicts the means at all configurations of the integrals, and their variance. */
static void analysis_integrate(struct analysis *analysis) {
    struct spex_prior all = {0};
    size_t parameters = analysis->space->parameter_count;
    for (size_t i = 0; i < PAIRS; i++) {
        analysis->at_a[i] = analysis_expected(analysis, analysis->a + i * parameters);
        spex_prior_add(&all, analysis->at_a[i], 0);
        spex_prior_add(&all, analysis_expected(analysis, analysis->b + i * parameters), 0);
    }
    analysis->variance = all.squares / (all.count - 1);
}

/* Shares of the variance: by the parameter itself, and with all that it takes part in. */
struct effects {
    double main;
    double total;
};

/* Level number `place` of `of` evenly spaced ones: the middles of equal parts. The ends of the
 * range would be overrepresented among few levels and enlarge the effect. */
static size_t spaced_level(const struct spex_space *space, size_t parameter, size_t place,
                           size_t of) {
    size_t count = space->parameters[parameter].count;
    return (2 * place + 1) * count / (2 * of);
}

/* All levels if there are at most `most`. */
static size_t spaced_level_count(const struct spex_space *space, size_t parameter, size_t most) {
    size_t count = space->parameters[parameter].count;
    return count < most ? count : most;
}

/* The mean prediction over the space with these levels fixed. All levels use the same
 * configurations, so that the others' effects cancel in the differences. */
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
        sum += analysis_expected(analysis, allowed ? analysis->mixed : base);
    }
    return sum / BASES;
}

/* The variance of the conditional means between levels, as a share of the whole variance. */
static double main_effect(struct analysis *analysis, size_t one, size_t other, size_t most) {
    const struct spex_space *space = analysis->space;
    size_t ones = spaced_level_count(space, one, most),
           others = one == other ? 1 : spaced_level_count(space, other, most);
    struct spex_prior means = {0};
    for (size_t i = 0; i < ones; i++)
        for (size_t j = 0; j < others; j++) {
            size_t level_one = spaced_level(space, one, i, ones);
            size_t level_other = one == other ? level_one : spaced_level(space, other, j, others);
            spex_prior_add(&means, conditional_mean(analysis, one, level_one, other, level_other),
                           0);
        }
    return analysis->variance > 0 ? fmin(means.squares / means.count / analysis->variance, 1) : 0;
}

/* The total effect: what is left of the variance when all other parameters are known, by Jansen's
 * estimator (Saltelli and others, Variance Based Sensitivity Analysis of Model Output, 2010, table
 * 2). A changed configuration that is not allowed counts as no change. */
static double total_effect(struct analysis *analysis, size_t parameter) {
    size_t parameters = analysis->space->parameter_count;
    double sum = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        memcpy(analysis->mixed, analysis->a + i * parameters, parameters * sizeof(size_t));
        analysis->mixed[parameter] = analysis->b[i * parameters + parameter];
        if (!spex_space_settle(analysis->space, analysis->mixed))
            continue;
        double changed = analysis->at_a[i] - analysis_expected(analysis, analysis->mixed);
        sum += changed * changed;
    }
    return analysis->variance > 0 ? fmin(sum / (2 * PAIRS * analysis->variance), 1) : 0;
}

/* The total effect cannot be less than the main one; their separate integrals may say so. */
static struct effects effects_of(struct analysis *analysis, size_t parameter) {
    if (analysis->space->parameters[parameter].count < 2)
        return (struct effects){0, 0};
    double main = main_effect(analysis, parameter, parameter, LEVELS);
    return (struct effects){main, fmax(main, total_effect(analysis, parameter))};
}

/* Returns the share with its interval, between percentiles of the bootstrap samples. Unlike that of
 * the basic bootstrap, this interval stays within 0 and 1. */
static struct spex_sensitivity_share share_with_interval(double value, double *samples) {
    qsort(samples, SAMPLES, sizeof(*samples), spex_ascending);
    return (struct spex_sensitivity_share){value, fmin(samples[0], value),
                                           fmax(samples[SAMPLES - 1], value)};
}

/* Row 0 of `effects` is from all observations, the others are from bootstrap samples. */
static void analysis_bootstrap(struct analysis *analysis, struct effects *effects) {
    size_t parameters = analysis->space->parameter_count;
    struct spex_draw draw = {2};
    for (size_t s = 0; s <= SAMPLES; s++) {
        analysis_fit(analysis, s ? &draw : NULL);
        analysis_integrate(analysis);
        for (size_t p = 0; p < parameters; p++)
            effects[s * parameters + p] = effects_of(analysis, p);
    }
}

/* Fits the process SAMPLES + 1 times, each O(n³) for n observations, of which there are at most
 * CONFIGS_MAX. */
int spex_sensitivity_of(const struct spex_space *space, const struct spex_sensitivity_input *inputs,
                        size_t count, struct spex_sensitivity *sensitivities) {
    size_t parameters = space->parameter_count;
    double mains[SAMPLES], totals[SAMPLES];
    struct analysis analysis;
    struct effects *effects = calloc((SAMPLES + 1) * parameters, sizeof(*effects));
    int err = effects ? analysis_prepare(&analysis, space, inputs, count) : -ENOMEM;
    if (!effects)
        return err;
    if (!err)
        analysis_bootstrap(&analysis, effects);
    for (size_t p = 0; !err && p < parameters; p++) {
        for (size_t s = 0; s < SAMPLES; s++) {
            mains[s] = effects[(s + 1) * parameters + p].main;
            totals[s] = effects[(s + 1) * parameters + p].total;
        }
        sensitivities[p] = (struct spex_sensitivity){share_with_interval(effects[p].main, mains),
                                                     share_with_interval(effects[p].total, totals)};
    }
    analysis_free(&analysis);
    free(effects);
    return err;
}

/* Prepares and fits again for each pair; the seed of the bootstrap is the same as in
 * spex_sensitivity_of, so both use the same samples. */
int spex_sensitivity_pair(const struct spex_space *space,
                          const struct spex_sensitivity_input *inputs, size_t count, size_t one,
                          size_t other, struct spex_sensitivity_share *share) {
    double samples[SAMPLES], value = 0;
    struct spex_draw draw = {2};
    struct analysis analysis;
    int err = analysis_prepare(&analysis, space, inputs, count);
    for (size_t s = 0; !err && s <= SAMPLES; s++) {
        analysis_fit(&analysis, s ? &draw : NULL);
        analysis_integrate(&analysis);
        double together = main_effect(&analysis, one, other, LEVELS_OF_PAIR) -
                          main_effect(&analysis, one, one, LEVELS_OF_PAIR) -
                          main_effect(&analysis, other, other, LEVELS_OF_PAIR);
        if (s)
            samples[s - 1] = fmax(together, 0);
        else
            value = fmax(together, 0);
    }
    if (!err)
        *share = share_with_interval(value, samples);
    analysis_free(&analysis);
    return err;
}
