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
    /* Greatest values of the parameters that vary; 0 of the others. */
    double greatest[SPEX_MODEL_PARAMETERS_MAX];
    /* Least values of the parameters that the model divides by; 0 of the others. */
    double least[SPEX_MODEL_PARAMETERS_MAX];
    /* Standard error of the power by which the time grows beyond these values: with each doubling
     * of a parameter, or halving, the time may be 2^error times what the model says. */
    double power_error;
};

/* Numbers above the greatest, and times other than 0 below the least, have powers and squares that
 * overflow or vanish. */
#define SPEX_FIT_GREATEST 1e25
#define SPEX_FIT_LEAST    1e-25
bool spex_fit_takes_time(double seconds);

/* 0; -EINVAL: no row, more parameters than SPEX_MODEL_PARAMETERS_MAX, or a number that is negative
 * or not finite; -ERANGE: a number beyond these limits, or products of them overflow; -ENOMEM. */
int spex_fit(const struct spex_measurements *measured, struct spex_fit *fit);

/* As spex_model_predict; beyond the measured range the interval also has what is uncertain of the
 * model's form. */
struct spex_prediction spex_fit_predict(const struct spex_fit *fit, const double *parameters);

#endif
