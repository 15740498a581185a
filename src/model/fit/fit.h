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

/* 0; -EINVAL: no row, more parameters than SPEX_MODEL_PARAMETERS_MAX, or a number that is negative
 * or not finite; -ENOMEM. */
int spex_fit(const struct spex_measurements *measured, struct spex_fit *fit);

#endif
