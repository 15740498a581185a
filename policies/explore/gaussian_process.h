/* SPDX-License-Identifier: MIT */
/* Regression by a Gaussian process (Rasmussen and Williams, Gaussian Processes for Machine
 * Learning, 2006, chapters 2 and 5): predicts losses of configurations from those of others. The
 * covariance is a Matérn 5/2 function of the distance, with a length for each parameter; two
 * categories are at distance 0 or 1. A term of each configuration's own allows for what the
 * parameters' positions do not explain. */
#ifndef SPEX_POLICIES_EXPLORE_GAUSSIAN_PROCESS_H
#define SPEX_POLICIES_EXPLORE_GAUSSIAN_PROCESS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <spex/policy.h>

/* Most observations: a prediction takes time quadratic in them, the factor cubic. */
#define SPEX_GP_OBSERVATIONS 320

/* Most observations while lengths are fitted, which computes the factor many times. */
#define SPEX_GP_FITTED 80

struct spex_gp {
    const struct spex_space *space;
    size_t dimensions;  /* parameters with more than one level */
    size_t *parameters; /* their indices in the space */
    double *scales;     /* 1 / length of each dimension */
    double usual;       /* where the prior of lengths is, over the root of `dimensions` */
    double signal;      /* variance of the Matérn term */
    double own;         /* variance of the configurations' own term */
    double mean;
    size_t count;
    size_t room;
    double *points; /* `dimensions` for each observation: position, or a category's index */
    double *losses;
    double *noise;  /* variance of each loss */
    double *factor; /* Cholesky factor of the covariance matrix, rows of `room` */
    double *white;  /* L⁻¹ (losses - mean), with the factor L */
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

/* For at most `room` observations. 0 or -ENOMEM. */
static inline int spex_gp_init(struct spex_gp *gp, const struct spex_space *space, size_t room) {
    size_t all = space->parameter_count;
    *gp = (struct spex_gp){.space = space, .signal = 1, .own = 0.05, .usual = 0.7, .room = room};
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

/* A configuration as a point of the process. */
SPEX_INLINE void spex_gp_point(const struct spex_gp *gp, const size_t *levels, double *point) {
    for (size_t d = 0; d < gp->dimensions; d++) {
        size_t p = gp->parameters[d];
        point[d] = spex_gp_ordered(gp, d) ? gp->space->parameters[p].values[levels[p]].position
                                          : (double)levels[p];
    }
}

/* The Matérn term of the covariance. *same: the points are equal, so that the configuration's own
 * variance is to be added. */
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

/* The covariance of two points, noise excluded. */
SPEX_INLINE double spex_gp_both(const struct spex_gp *gp, const double *a, const double *b) {
    bool same;
    double covariance = spex_gp_covariance(gp, a, b, &same);
    return covariance + (same ? gp->own : 0);
}

/* Computes row `row` of the factor from the covariances in it, in place, given the rows before it
 * (Cholesky-Banachiewicz). The lower bound keeps rounding from making the matrix indefinite. */
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

/* Computes `white` from row `from` on, by forward substitution. Enough when losses have changed and
 * points have not. */
static inline void spex_gp_whiten(struct spex_gp *gp, size_t from) {
    for (size_t i = from; i < gp->count; i++) {
        const double *row = gp->factor + i * gp->room;
        double sum = gp->losses[i] - gp->mean;
        for (size_t k = 0; k < i; k++)
            sum -= row[k] * gp->white[k];
        gp->white[i] = sum / row[i];
    }
}

/* Adds observation `row` to the factor; those before it have to be in it. O(row²). */
static inline void spex_gp_take(struct spex_gp *gp, size_t row) {
    double *mine = gp->factor + row * gp->room;
    const double *point = gp->points + row * gp->dimensions;
    for (size_t j = 0; j < row; j++)
        mine[j] = spex_gp_both(gp, point, gp->points + j * gp->dimensions);
    mine[row] = gp->signal + gp->own + gp->noise[row];
    spex_gp_row(gp, row);
}

/* The mean of the losses, weighted by 1 / variance. */
SPEX_INLINE double spex_gp_mean_loss(const struct spex_gp *gp) {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < gp->count; i++) {
        double weight = 1 / (gp->signal + gp->own + gp->noise[i]);
        sum += weight * gp->losses[i];
        weights += weight;
    }
    return weights > 0 ? sum / weights : 0;
}

/* Computes the factor of all observations, the mean and `white`. O(count³). */
static inline void spex_gp_factorise(struct spex_gp *gp) {
    for (size_t i = 0; i < gp->count; i++)
        spex_gp_take(gp, i);
    gp->mean = spex_gp_mean_loss(gp);
    spex_gp_whiten(gp, 0);
}

/* The logarithm of the marginal likelihood and of the parameters' prior, up to a constant. The
 * prior of lengths is lognormal around `usual` roots of the number of dimensions (Hvarfner,
 * Hellsten and Nardi, Vanilla Bayesian Optimization Performs Great in High Dimensions, 2024).
 * Computes the factor. */
static inline double spex_gp_likelihood(struct spex_gp *gp) {
    double sum = 0, usual = log(gp->usual * sqrt((double)gp->dimensions));
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

/* Multiplies or divides a parameter by `factor` if that increases the likelihood; returns whether
 * it did. */
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

/* Fits scales, signal and own variance by coordinate ascent. The factor is that of the last attempt
 * afterwards: call spex_gp_factorise. */
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

/* Points with the mean and variance that the process predicts for them, updated observation by
 * observation. */
struct spex_gp_candidates {
    size_t count;
    size_t room;
    double *points; /* gp->dimensions for each candidate */
    /* A row of `room` for each observation: covariances with the candidates, solved by the
     * factor. */
    double *solved;
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

/* Updates the predictions by observation `row`. The inner loops run over candidates, which are
 * contiguous, so that they vectorise. O(row · candidates). */
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

/* Computes all predictions anew. */
static inline void spex_gp_candidates_predict(struct spex_gp_candidates *candidates,
                                              const struct spex_gp *gp) {
    for (size_t c = 0; c < candidates->count; c++) {
        candidates->means[c] = gp->mean;
        candidates->variances[c] = gp->signal + gp->own;
    }
    for (size_t i = 0; i < gp->count; i++)
        spex_gp_candidates_take(candidates, gp, i);
}

/* Sets `solution` to the inverse of the covariance matrix times (losses - mean), by backward
 * substitution. With it spex_gp_expected takes O(count) for a point. */
static inline void spex_gp_solve(const struct spex_gp *gp, double *solution) {
    for (size_t i = gp->count; i-- > 0;) {
        double sum = gp->white[i];
        for (size_t k = i + 1; k < gp->count; k++)
            sum -= gp->factor[k * gp->room + i] * solution[k];
        solution[i] = sum / gp->factor[i * gp->room + i];
    }
}

/* The predicted mean at a point; `solution` is that of spex_gp_solve. */
static inline double spex_gp_expected(const struct spex_gp *gp, const double *solution,
                                      const double *point) {
    double sum = gp->mean;
    for (size_t i = 0; i < gp->count; i++)
        sum += solution[i] * spex_gp_both(gp, point, gp->points + i * gp->dimensions);
    return sum;
}

#endif
