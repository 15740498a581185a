/* SPDX-License-Identifier: MIT */
/* Candidates for parameters without slices, which move together with others or at random: chosen by
 * LASSO over all functions of each parameter and products of the simple ones. */
#ifndef SPEX_MODEL_FIT_LASSO_H
#define SPEX_MODEL_FIT_LASSO_H

#include "model/fit/candidates.h"

/* Fills in the candidates of parameters that vary and have none. 0 or -ENOMEM. */
int spex_lasso_candidates(const struct spex_problem *problem, struct spex_candidates *candidates);

#endif
