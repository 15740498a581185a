/* SPDX-License-Identifier: MIT */
/* What a fit works on: points, their weights, and the functions of each parameter as columns. */
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
    double floor;    /* of a deviation, in seconds: weights are 1 / (time² + floor²) */
    double least;    /* time */
    double *columns; /* parameter by parameter, function by function */
    bool usable[SPEX_MODEL_PARAMETERS_MAX][SPEX_FUNCTIONS];
    bool varies[SPEX_MODEL_PARAMETERS_MAX];
    double *ones;
};

/* 0 or -ENOMEM; to be freed in any case. The points must outlive it. */
int spex_problem_make(struct spex_problem *problem, const struct spex_points *points);
void spex_problem_free(struct spex_problem *problem);

const double *spex_problem_column(const struct spex_problem *problem, size_t parameter,
                                  size_t function);

#endif
