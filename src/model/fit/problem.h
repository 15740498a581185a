/* SPDX-License-Identifier: MIT */
/* The data of a fit: points, their weights, and the functions of each parameter as columns. */
#ifndef SPEX_MODEL_FIT_PROBLEM_H
#define SPEX_MODEL_FIT_PROBLEM_H

#include <stdbool.h>

#include "model/fit/dictionary.h"
#include "model/fit/least_squares.h"
#include "model/fit/points.h"

struct spex_problem {
    const struct spex_points *points;
    struct spex_data data;
    double *weights;
    /* Floor of a deviation, in seconds: weights are 1 / (time² + floor²). */
    double floor;
    /* Least time of a point. */
    double least;
    /* Variance of repeated measurements at one point, relative to the weights, with its degrees of
     * freedom, and that of a point's mean that follows from it. */
    double within;
    double within_freedom;
    double noise;
    /* Values of the functions: by parameter, function and point. */
    double *columns;
    bool usable[SPEX_MODEL_PARAMETERS_MAX][SPEX_FUNCTIONS];
    bool varies[SPEX_MODEL_PARAMETERS_MAX];
    double *ones;
};

/* `points` must outlive the problem. 0 or -ENOMEM; to be freed in any case. */
int spex_problem_make(struct spex_problem *problem, const struct spex_points *points);
void spex_problem_free(struct spex_problem *problem);

/* A problem of the points that are marked. They are copied to *points, which must outlive the
 * problem. Weights, noise and functions are those of the whole. 0 or -ENOMEM; both are to be freed
 * in any case. */
int spex_problem_make_part(struct spex_problem *part, struct spex_points *points,
                           const struct spex_problem *whole, const bool *marked);

/* The values of a function of a parameter at all points; valid if usable[parameter][function]. */
const double *spex_problem_column(const struct spex_problem *problem, size_t parameter,
                                  size_t function);

#endif
