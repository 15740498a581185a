/* SPDX-License-Identifier: MIT */
/* Forms with a power that is in no dictionary. Functions of programs grow by other powers, too, over
 * the sizes that are measured (n log log n, or caches that end little by little). */
#ifndef SPEX_MODEL_FIT_POWER_H
#define SPEX_MODEL_FIT_POWER_H

#include "model/fit/hypothesis.h"

/* The score, and the price in it, of a form with any power in place of one of its functions of the
 * parameter, if that is better than the form, which has been judged; otherwise those of the form. 0
 * or -ENOMEM. */
int spex_power_score(const struct spex_fit_workspace *workspace, const struct spex_hypothesis *form,
                     size_t parameter, double *score, double *price);

#endif
