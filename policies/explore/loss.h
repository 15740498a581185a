/* SPDX-License-Identifier: MIT */
/* Summarises a configuration's trials as one number, its loss; less is better. A configuration that
 * keeps all limits is better than one that does not. Of two that do not, the one that exceeds them
 * less is better. Several objectives are combined by Tchebycheff's distance from the best value of
 * each seen so far, augmented by a small share of the sum (Knowles, ParEGO, 2006). */
#ifndef SPEX_POLICIES_EXPLORE_LOSS_H
#define SPEX_POLICIES_EXPLORE_LOSS_H

#include <math.h>

#include "policies/explore/noise.h"
#include "policies/explore/results.h"

/* Further objectives are ignored. */
#define SPEX_LOSS_OBJECTIVES 8

/* From this probability on, limits count as kept. */
#define SPEX_LOSS_SURE 0.8

/* The share of the sum in the augmented Tchebycheff distance. */
#define SPEX_LOSS_AUGMENTED 0.05

struct spex_loss {
    const struct spex_space *space;
    size_t objectives;
    struct spex_scale scales[SPEX_LOSS_OBJECTIVES];
    double low[SPEX_LOSS_OBJECTIVES]; /* least and greatest cost seen so far */
    double high[SPEX_LOSS_OBJECTIVES];
    double weights[SPEX_LOSS_OBJECTIVES];
    struct spex_noise limits; /* variance of a trial's limited figures, relative to them */
    double best;              /* least scalar of configurations that keep the limits */
    double worst;
};

/* The loss of a configuration and how exactly it is known. */
struct spex_loss_value {
    double loss;
    double squares; /* sum of squared distances of the trials' losses from their mean */
    double error;   /* standard error of one trial, by the run's own estimate; NaN: not known */
};

/* A value of an objective as a cost: less is better. */
SPEX_INLINE double spex_loss_cost(const struct spex_loss *loss, size_t objective, double value) {
    double sign = loss->space->criteria[objective].goal == SPEX_MAXIMISE ? -1 : 1;
    return sign * spex_scale_at(&loss->scales[objective], value);
}

/* The absolute derivative of the cost by the value. */
SPEX_INLINE double spex_loss_slope(const struct spex_loss *loss, size_t objective, double value) {
    return spex_scale_slope(&loss->scales[objective], value);
}

/* The factor of an objective's cost in the loss: its weight over the range of its costs. */
SPEX_INLINE double spex_loss_scale(const struct spex_loss *loss, size_t objective) {
    double range = loss->high[objective] - loss->low[objective];
    return loss->objectives == 1 ? 1 : loss->weights[objective] / (range > 0 ? range : 1);
}

/* The objectives combined into one number, without regard to limits. */
static inline double spex_loss_scalar(const struct spex_loss *loss,
                                      const struct spex_results_values *values) {
    double most = -INFINITY, sum = 0;
    if (loss->objectives == 1)
        return spex_loss_cost(loss, 0, values[0].mean);
    for (size_t o = 0; o < loss->objectives; o++) {
        double distance =
            spex_loss_scale(loss, o) * (spex_loss_cost(loss, o, values[o].mean) - loss->low[o]);
        most = fmax(most, distance);
        sum += distance;
    }
    return most + SPEX_LOSS_AUGMENTED * sum;
}

/* The distribution function of the standard normal distribution. */
SPEX_INLINE double spex_loss_normal(double z) {
    return erfc(-z / sqrt(2)) / 2;
}

/* The standard error of a configuration's mean: by the variance between trials or by the runs' own
 * errors, whichever is greater. */
SPEX_INLINE double spex_loss_mean_error(const struct spex_loss *loss,
                                        const struct spex_results_values *values, double trials) {
    double squares = values->mean != 0 ? values->squares / (values->mean * values->mean) : 0;
    double among =
        spex_noise_variance(&loss->limits, trials, squares) * values->mean * values->mean;
    double within = isfinite(values->error) ? values->error * values->error : 0;
    return sqrt(fmax(among, within) / trials);
}

/* The sum of the excesses over the limits, relative to the limits. *kept is set to the probability
 * that no limit is exceeded. */
static inline double spex_loss_violation(const struct spex_loss *loss,
                                         const struct spex_results_values *values, double trials,
                                         double *kept) {
    const struct spex_space *space = loss->space;
    double violation = 0;
    *kept = 1;
    for (size_t c = 0; c < space->criterion_count; c++) {
        const struct spex_criterion *criterion = &space->criteria[c];
        if (!spex_criterion_is_limit(criterion))
            continue;
        double sign = criterion->goal == SPEX_AT_MOST ? 1 : -1;
        double beyond = sign * (values[c].mean - criterion->bound);
        double scale = fabs(criterion->bound) > 0 ? fabs(criterion->bound) : 1;
        double error = spex_loss_mean_error(loss, &values[c], trials);
        violation += beyond > 0 ? beyond / scale : 0;
        *kept *= error > 0 ? spex_loss_normal(-beyond / error) : beyond <= 0;
    }
    return violation;
}

/* The loss of a configuration. A configuration that is more likely than not to keep the limits, but
 * not sure to, is moved towards the worst scalar. Those that exceed the limits come after all that
 * keep them. A configuration without a successful trial comes last. Failures count only when more
 * trials failed than succeeded, since a single one may be chance. */
static inline double spex_loss_of(const struct spex_loss *loss, const struct spex_results *results,
                                  size_t config) {
    const struct spex_results_config *known = &results->configs[config];
    const struct spex_results_values *values = spex_results_values(results, config);
    double span = loss->worst > loss->best ? loss->worst - loss->best : 1, kept;
    if (!known->trials)
        return loss->worst + 1.5 * span;
    double violation = spex_loss_violation(loss, values, (double)known->trials, &kept);
    double crashes = known->failed > known->trials ? (double)(known->failed - known->trials) /
                                                         (double)(known->failed + known->trials)
                                                   : 0;
    if (violation > 0 && kept >= 0.5)
        kept = 0.499;
    if (violation <= 0 && kept < 0.5)
        kept = 0.5;
    if (kept < 0.5)
        return loss->worst + span * (0.5 - kept + violation / (1 + violation)) / 2 + span * crashes;
    double scalar = spex_loss_scalar(loss, values);
    double share = fmin(1, (kept - 0.5) / (SPEX_LOSS_SURE - 0.5));
    return share * scalar + (1 - share) * fmax(scalar, loss->worst) + span * crashes;
}

/* The loss with the variance of the configuration's trials in terms of it (by linear error
 * propagation). */
static inline struct spex_loss_value spex_loss_value(const struct spex_loss *loss,
                                                     const struct spex_results *results,
                                                     size_t config) {
    const struct spex_results_values *values = spex_results_values(results, config);
    struct spex_loss_value value = {spex_loss_of(loss, results, config), 0, 0};
    for (size_t o = 0; results->configs[config].trials && o < loss->objectives; o++) {
        double factor = spex_loss_scale(loss, o) * spex_loss_slope(loss, o, values[o].mean);
        value.squares += factor * factor * values[o].squares;
        value.error += factor * factor * values[o].error * values[o].error;
    }
    value.error = sqrt(value.error);
    return value;
}

static inline void spex_loss_init(struct spex_loss *loss, const struct spex_space *space) {
    *loss = (struct spex_loss){.space = space, .objectives = space->objective_count};
    if (loss->objectives > SPEX_LOSS_OBJECTIVES)
        loss->objectives = SPEX_LOSS_OBJECTIVES;
    for (size_t o = 0; o < loss->objectives; o++)
        loss->weights[o] = 1.0 / (double)loss->objectives;
}

/* Draws new weights of the objectives, uniformly among all mixtures (exponential variates divided
 * by their sum), so that the search covers the whole Pareto front. */
static inline void spex_loss_turn(struct spex_loss *loss, struct spex_draw *draw) {
    double sum = 0;
    for (size_t o = 0; o < loss->objectives; o++) {
        loss->weights[o] = -log(1 - spex_draw_share(draw)) + 1e-3;
        sum += loss->weights[o];
    }
    for (size_t o = 0; o < loss->objectives; o++)
        loss->weights[o] /= sum;
}

/* Scale of an objective's costs, and their range. */
static inline void spex_loss_learn_range(struct spex_loss *loss, const struct spex_results *results,
                                         size_t objective) {
    struct spex_scale_sums sums = {.count = 0};
    for (size_t c = 0; c < results->count; c++)
        if (results->configs[c].trials)
            spex_scale_add(&sums, spex_results_values(results, c)[objective].mean);
    loss->scales[objective] = spex_scale_of(&sums);
    loss->low[objective] = INFINITY;
    loss->high[objective] = -INFINITY;
    for (size_t c = 0; c < results->count; c++) {
        double cost =
            spex_loss_cost(loss, objective, spex_results_values(results, c)[objective].mean);
        if (results->configs[c].trials) {
            loss->low[objective] = fmin(loss->low[objective], cost);
            loss->high[objective] = fmax(loss->high[objective], cost);
        }
    }
}

/* The variance of limited figures between trials, pooled over all configurations. */
static inline void spex_loss_learn_limits(struct spex_loss *loss,
                                          const struct spex_results *results) {
    const struct spex_space *space = loss->space;
    struct spex_noise_sums sums = {0};
    for (size_t i = 0; i < results->count * space->criterion_count; i++) {
        const struct spex_results_values *values = &results->values[i];
        uint64_t trials = results->configs[i / space->criterion_count].trials;
        if (spex_criterion_is_limit(&space->criteria[i % space->criterion_count]) &&
            values->mean != 0 && trials > 1)
            spex_noise_add(&sums, (double)trials, values->squares / (values->mean * values->mean));
    }
    loss->limits = spex_noise_of(&sums);
}

/* Takes the ranges and scalars from all results so far. To be called before losses are asked for,
 * and after spex_loss_turn. */
static inline void spex_loss_learn(struct spex_loss *loss, const struct spex_results *results) {
    double kept;
    spex_loss_learn_limits(loss, results);
    for (size_t o = 0; o < loss->objectives; o++)
        spex_loss_learn_range(loss, results, o);
    loss->best = INFINITY;
    loss->worst = -INFINITY;
    for (size_t c = 0; c < results->count; c++) {
        const struct spex_results_values *values = spex_results_values(results, c);
        if (!results->configs[c].trials)
            continue;
        double scalar = spex_loss_scalar(loss, values);
        bool keeps =
            spex_loss_violation(loss, values, (double)results->configs[c].trials, &kept) <= 0;
        loss->worst = fmax(loss->worst, scalar);
        loss->best = keeps ? fmin(loss->best, scalar) : loss->best;
    }
    if (!isfinite(loss->worst))
        loss->worst = 0;
    if (!isfinite(loss->best))
        loss->best = loss->worst;
}

#endif
