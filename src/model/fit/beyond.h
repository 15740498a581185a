/* SPDX-License-Identifier: MIT */
/* How well the form of a model is known where nothing was measured. Beyond the measured range the
 * time is taken to grow by a power of the parameters that differs from the model's by an error:
 * each doubling of a parameter multiplies the time by 2^error. */
#ifndef SPEX_MODEL_FIT_BEYOND_H
#define SPEX_MODEL_FIT_BEYOND_H

#include "model/fit/hypothesis.h"

/* Greatest values of the parameters, without the points that are marked in `left_out` (NULL: none);
 * 0 of parameters that do not vary. */
void spex_beyond_greatest(const struct spex_problem *problem, const bool *left_out,
                          double *greatest);

/* Sets *error to the standard error of the power, for the best form and its fit. 0 or -ENOMEM. */
int spex_beyond_estimate(struct spex_fit_workspace *workspace, struct spex_hypothesis *best,
                         const struct spex_least_squares *fit, double *error);

/* Doublings by which a parameter is above its greatest value, of the one furthest above; 0: none
 * is. Parameters whose greatest value is 0 do not count. */
double spex_beyond_octaves(const double *parameters, const double *greatest, size_t count);

#endif
