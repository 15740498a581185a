/* SPDX-License-Identifier: MIT */
/* Groups measurements into points: a point is a combination of parameters' values and what was
 * measured there. If there are more than SPEX_POINTS_MAX different combinations, close ones become
 * one point. */
#ifndef SPEX_MODEL_FIT_POINTS_H
#define SPEX_MODEL_FIT_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows as they were measured. */
struct spex_measurements {
    size_t parameter_count;
    size_t count;
    /* Values of the parameters, row by row; finite and not negative. */
    const double *parameters;
    /* Times in seconds, by row; finite and not negative. */
    const double *times;
    /* The run of each row: measurements of one run are correlated. NULL: not known. */
    const uint32_t *runs;
};

struct spex_points {
    size_t parameter_count;
    size_t count;
    /* Values of the parameters, point by point. */
    double *parameters;
    /* Means, without outliers. */
    double *times;
    /* Independent measurements that the mean is worth, 1 or more. */
    double *rows;
    /* Variances of single measurements; 0: there is one. */
    double *variances;
    /* So few measurements that they cannot tell which of them are outliers. */
    bool *few;
    /* Measurements that were left out. */
    size_t outliers;
};

enum { SPEX_POINTS_MAX = 1024 };

/* 0 or -ENOMEM; to be freed in any case. */
int spex_points_make(struct spex_points *points, const struct spex_measurements *measured);
/* Room for so many points; `parameter_count` must be set. 0 or -ENOMEM; to be freed in any case. */
int spex_points_allocate(struct spex_points *points, size_t count);
void spex_points_free(struct spex_points *points);

#endif
