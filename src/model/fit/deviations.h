/* SPDX-License-Identifier: MIT */
/* Whether what a form leaves goes by the values of a parameter. */
#ifndef SPEX_MODEL_FIT_DEVIATIONS_H
#define SPEX_MODEL_FIT_DEVIATIONS_H

#include "model/fit/hypothesis.h"

/* *may: a search for changes by this parameter is worth its cost. Changes are found only where they
 * are much clearer than this asks for. 0 or -ENOMEM. */
int spex_deviations_go_by(const struct spex_problem *problem, const struct spex_hypothesis *form,
                          const struct spex_least_squares *fit, size_t parameter, bool *may);

#endif
