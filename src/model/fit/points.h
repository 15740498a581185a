/* SPDX-License-Identifier: MIT */
/* Measurements put together by where they were made: a point is a combination of parameters' values, and what was
 * measured there several times. Of very many different ones those that lie close to each other are one. */
#ifndef SPEX_MODEL_FIT_POINTS_H
#define SPEX_MODEL_FIT_POINTS_H

#include <stddef.h>
#include <stdint.h>

/* Rows as they were measured. */
struct spex_measurements {
    size_t parameter_count;
    size_t count;
    const double *parameters; /* row by row: finite, not negative */
    const double *times;      /* the same */
    const uint32_t
        *runs; /* the same: of one run have more in common than others; NULL: nobody knows */
};

struct spex_points {
    size_t parameter_count;
    size_t count;
    double *parameters; /* point by point */
    double *times;      /* means, without outliers */
    double *rows; /* independent measurements, of as many as there are in the mean: 1 or more */
    double *variances; /* of single measurements; 0 with one */
    size_t outliers;   /* measurements that were left out */
};

enum { SPEX_POINTS_MAX = 1024 };

/* For qsort: doubles, ascending. */
int spex_ascending(const void *a, const void *b);

/* 0 or -ENOMEM; to be freed in any case. */
int spex_points_make(struct spex_points *points, const struct spex_measurements *measured);
void spex_points_free(struct spex_points *points);

#endif
