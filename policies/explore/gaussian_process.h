/* SPDX-License-Identifier: MIT */
/* Regression by a Gaussian process (Rasmussen and Williams, 2006, chapters 2 and 5): what losses of some configurations
 * say of others. Covariance falls with the distance as Matérn's with 5/2 does, in each parameter by a length of its own;
 * categories differ or do not; and every configuration differs a little by itself. */
#ifndef SPEX_POLICIES_EXPLORE_GAUSSIAN_PROCESS_H
#define SPEX_POLICIES_EXPLORE_GAUSSIAN_PROCESS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <spex/policy.h>

/* Observations at most: what a proposal may cost bounds them. */
#define SPEX_GP_OBSERVATIONS 320

/* For the search for lengths they are fewer, since it factorises many times. */
#define SPEX_GP_FITTED 80

struct spex_gp {
    const struct spex_space *space;
    size_t dimensions;  /* parameters that have a choice */
    size_t *parameters; /* which */
    double *scales;     /* of each, 1 / length */
    double signal;      /* variance of what is continuous */
    double own;         /* of what is each configuration's own */
    double mean;
    size_t count;
    size_t room;
    double *points; /* dimensions of each: positions, or categories' numbers */
    double *losses;
    double *noise;  /* variance of the loss */
    double *factor; /* Cholesky's, rows of `room` */
    double *white;  /* what the losses are, freed of covariance */
};

static inline void spex_gp_free(struct spex_gp *gp) {
    free(gp->parameters);
    free(gp->scales);
    free(gp->points);
    free(gp->losses);
    free(gp->noise);
    free(gp->factor);
    free(gp->white);
    *gp = (struct spex_gp){.space = NULL};
}

/* 0 or -ENOMEM. */
static inline int spex_gp_init(struct spex_gp *gp, const struct spex_space *space, size_t room) {
    size_t all = space->parameter_count;
    *gp = (struct spex_gp){.space = space, .signal = 1, .own = 0.05, .room = room};
    gp->parameters = calloc(all, sizeof(size_t));
    gp->scales = calloc(all, sizeof(double));
    gp->points = calloc(room * all, sizeof(double));
    gp->losses = calloc(room, sizeof(double));
    gp->noise = calloc(room, sizeof(double));
    gp->factor = calloc(room * room, sizeof(double));
    gp->white = calloc(room, sizeof(double));
    if (!gp->parameters || !gp->scales || !gp->points || !gp->losses || !gp->noise || !gp->factor ||
        !gp->white) {
        spex_gp_free(gp);
        return -ENOMEM;
    }
    for (size_t p = 0; p < all; p++)
        if (space->parameters[p].count > 1)
            gp->parameters[gp->dimensions++] = p;
    for (size_t d = 0; d < gp->dimensions; d++)
        gp->scales[d] = 1 / (0.5 * sqrt((double)gp->dimensions));
    return 0;
}

SPEX_INLINE bool spex_gp_ordered(const struct spex_gp *gp, size_t dimension) {
    return spex_parameter_ordered(&gp->space->parameters[gp->parameters[dimension]]);
}

SPEX_INLINE void spex_gp_point(const struct spex_gp *gp, const size_t *levels, double *point) {
    for (size_t d = 0; d < gp->dimensions; d++) {
        size_t p = gp->parameters[d];
        point[d] = spex_gp_ordered(gp, d) ? gp->space->parameters[p].values[levels[p]].position
                                          : (double)levels[p];
    }
}

/* Without what is a configuration's own; *same tells whether that is to be added. */
static inline double spex_gp_covariance(const struct spex_gp *gp, const double *a, const double *b,
                                        bool *same) {
    double squares = 0;
    *same = true;
    for (size_t d = 0; d < gp->dimensions; d++) {
        double distance = a[d] - b[d];
        if (distance == 0)
            continue;
        *same = false;
        distance = gp->scales[d] * (spex_gp_ordered(gp, d) ? distance : 1);
        squares += distance * distance;
    }
    double r = sqrt(5 * squares);
    return gp->signal * (1 + r + r * r / 3) * exp(-r);
}

SPEX_INLINE double spex_gp_both(const struct spex_gp *gp, const double *a, const double *b) {
    bool same;
    double covariance = spex_gp_covariance(gp, a, b, &same);
    return covariance + (same ? gp->own : 0);
}

/* factor[row], given the rows before it: solves for the covariances in place. */
SPEX_INLINE void spex_gp_row(struct spex_gp *gp, size_t row) {
    double *mine = gp->factor + row * gp->room;
    for (size_t j = 0; j < row; j++) {
        const double *other = gp->factor + j * gp->room;
        double sum = mine[j];
        for (size_t k = 0; k < j; k++)
            sum -= mine[k] * other[k];
        mine[j] = sum / other[j];
    }
    double rest = mine[row];
    for (size_t k = 0; k < row; k++)
        rest -= mine[k] * mine[k];
    mine[row] = sqrt(fmax(rest, 1e-10));
}

/* Once losses have changed, and points have not. */
static inline void spex_gp_whiten(struct spex_gp *gp, size_t from) {
    for (size_t i = from; i < gp->count; i++) {
        const double *row = gp->factor + i * gp->room;
        double sum = gp->losses[i] - gp->mean;
        for (size_t k = 0; k < i; k++)
            sum -= row[k] * gp->white[k];
        gp->white[i] = sum / row[i];
    }
}

/* Takes observation number `row` in, those before it being in. */
static inline void spex_gp_take(struct spex_gp *gp, size_t row) {
    double *mine = gp->factor + row * gp->room;
    const double *point = gp->points + row * gp->dimensions;
    for (size_t j = 0; j < row; j++)
        mine[j] = spex_gp_both(gp, point, gp->points + j * gp->dimensions);
    mine[row] = gp->signal + gp->own + gp->noise[row];
    spex_gp_row(gp, row);
}

SPEX_INLINE double spex_gp_mean_loss(const struct spex_gp *gp) {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < gp->count; i++) {
        double weight = 1 / (gp->signal + gp->own + gp->noise[i]);
        sum += weight * gp->losses[i];
        weights += weight;
    }
    return weights > 0 ? sum / weights : 0;
}

static inline void spex_gp_factorise(struct spex_gp *gp) {
    for (size_t i = 0; i < gp->count; i++)
        spex_gp_take(gp, i);
    gp->mean = spex_gp_mean_loss(gp);
    spex_gp_whiten(gp, 0);
}

/* Logarithm of the marginal likelihood, and of what is believed of lengths before: that they grow with the square root of
 * the number of dimensions (Hvarfner, Hellsten and Nardi, Vanilla Bayesian Optimization Performs Great in High
 * Dimensions, 2024). */
static inline double spex_gp_likelihood(struct spex_gp *gp) {
    double sum = 0, usual = log(0.7 * sqrt((double)gp->dimensions));
    spex_gp_factorise(gp);
    for (size_t i = 0; i < gp->count; i++)
        sum -= gp->white[i] * gp->white[i] / 2 + log(gp->factor[i * gp->room + i]);
    for (size_t d = 0; d < gp->dimensions; d++) {
        double distance = -log(gp->scales[d]) - usual;
        sum -= distance * distance / (2 * 1.2 * 1.2);
    }
    double own = log(gp->own / gp->signal) - log(0.02), signal = log(gp->signal);
    return sum - own * own / (2 * 1.5 * 1.5) - signal * signal / 2;
}

/* Tries a parameter at a multiple and a fraction of it; whether one is better. */
static inline bool spex_gp_climb(struct spex_gp *gp, double *parameter, double factor, double least,
                                 double most, double *likelihood) {
    double before = *parameter;
    for (int side = 0; side < 2; side++) {
        double tried = side ? before / factor : before * factor;
        if (tried < least || tried > most)
            continue;
        *parameter = tried;
        double found = spex_gp_likelihood(gp);
        if (found > *likelihood) {
            *likelihood = found;
            return true;
        }
        *parameter = before;
    }
    return false;
}

/* Coordinate ascent. It leaves the factor of what was tried last: factorise again. */
static inline void spex_gp_fit(struct spex_gp *gp, unsigned sweeps) {
    double likelihood = spex_gp_likelihood(gp);
    for (unsigned sweep = 0; sweep < sweeps; sweep++) {
        bool better = false;
        double factor = sweep % 2 ? 1.4 : 2;
        for (size_t d = 0; d < gp->dimensions; d++)
            better |= spex_gp_climb(gp, &gp->scales[d], factor, 0.02, 30, &likelihood);
        better |= spex_gp_climb(gp, &gp->signal, factor, 0.05, 50, &likelihood);
        better |= spex_gp_climb(gp, &gp->own, factor * factor, 1e-5, 2, &likelihood);
        if (!better && sweep > 0)
            break;
    }
}

/* Configurations that may be proposed, with what is expected of them. */
struct spex_gp_candidates {
    size_t count;
    size_t room;
    double *points; /* gp->dimensions of each */
    double
        *solved; /* rows of `room`, one for each observation: covariances, solved by the factor */
    double *means;
    double *variances;
};

static inline void spex_gp_candidates_free(struct spex_gp_candidates *candidates) {
    free(candidates->points);
    free(candidates->solved);
    free(candidates->means);
    free(candidates->variances);
    *candidates = (struct spex_gp_candidates){0};
}

static inline int spex_gp_candidates_init(struct spex_gp_candidates *candidates,
                                          const struct spex_gp *gp, size_t room) {
    *candidates = (struct spex_gp_candidates){.room = room};
    candidates->points = calloc(room * gp->space->parameter_count, sizeof(double));
    candidates->solved = calloc(room * gp->room, sizeof(double));
    candidates->means = calloc(room, sizeof(double));
    candidates->variances = calloc(room, sizeof(double));
    if (candidates->points && candidates->solved && candidates->means && candidates->variances)
        return 0;
    spex_gp_candidates_free(candidates);
    return -ENOMEM;
}

/* What observation number `row` says of them. */
static inline void spex_gp_candidates_take(struct spex_gp_candidates *candidates,
                                           const struct spex_gp *gp, size_t row) {
    const double *factor = gp->factor + row * gp->room, *point = gp->points + row * gp->dimensions;
    double *restrict mine = candidates->solved + row * candidates->room;
    size_t count = candidates->count;
    for (size_t c = 0; c < count; c++)
        mine[c] = spex_gp_both(gp, point, candidates->points + c * gp->dimensions);
    for (size_t k = 0; k < row; k++) {
        const double *restrict other = candidates->solved + k * candidates->room;
        double by = factor[k];
        for (size_t c = 0; c < count; c++)
            mine[c] -= by * other[c];
    }
    for (size_t c = 0; c < count; c++) {
        mine[c] /= factor[row];
        candidates->means[c] += mine[c] * gp->white[row];
        candidates->variances[c] -= mine[c] * mine[c];
    }
}

static inline void spex_gp_candidates_predict(struct spex_gp_candidates *candidates,
                                              const struct spex_gp *gp) {
    for (size_t c = 0; c < candidates->count; c++) {
        candidates->means[c] = gp->mean;
        candidates->variances[c] = gp->signal + gp->own;
    }
    for (size_t i = 0; i < gp->count; i++)
        spex_gp_candidates_take(candidates, gp, i);
}

/* The inverse's product with the losses, for means alone. */
static inline void spex_gp_solve(const struct spex_gp *gp, double *solution) {
    for (size_t i = gp->count; i-- > 0;) {
        double sum = gp->white[i];
        for (size_t k = i + 1; k < gp->count; k++)
            sum -= gp->factor[k * gp->room + i] * solution[k];
        solution[i] = sum / gp->factor[i * gp->room + i];
    }
}

static inline double spex_gp_expected(const struct spex_gp *gp, const double *solution,
                                      const double *point) {
    double sum = gp->mean;
    for (size_t i = 0; i < gp->count; i++)
        sum += solution[i] * spex_gp_both(gp, point, gp->points + i * gp->dimensions);
    return sum;
}

#endif
