/* SPDX-License-Identifier: MIT */
/* Functions of parameters that no slice tells of, because they move together or at random: chosen by LASSO over all
 * functions of each parameter and products of the simple ones. */
#ifndef SPEX_MODEL_FIT_LASSO_H
#define SPEX_MODEL_FIT_LASSO_H

#include "model/fit/candidates.h"

/* Fills those candidates that have none and whose parameter varies. 0 or -ENOMEM. */
int spex_lasso_candidates(const struct spex_problem *problem, struct spex_candidates *candidates);

#endif
