/* SPDX-License-Identifier: MIT */
/* Fits a model to measurements. */
#ifndef SPEX_MODEL_FIT_FIT_H
#define SPEX_MODEL_FIT_FIT_H

#include "model/fit/points.h"
#include "model/model.h"

struct spex_fit {
    struct spex_model model;
    size_t points;
    /* Measurements that were left out as outliers. */
    size_t outliers;
};

/* Numbers above the greatest, and times other than 0 below the least, have powers and squares that
 * overflow or vanish. */
#define SPEX_FIT_GREATEST 1e25
#define SPEX_FIT_LEAST    1e-25
bool spex_fit_takes_time(double seconds);

/* 0; -EINVAL: no row, more parameters than SPEX_MODEL_PARAMETERS_MAX, or a number that is negative
 * or not finite; -ERANGE: a number beyond these limits, or products of them overflow; -ENOMEM. */
int spex_fit(const struct spex_measurements *measured, struct spex_fit *fit);

#endif
