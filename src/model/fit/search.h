/* SPDX-License-Identifier: MIT */
/* Searches the best form for the points: all combinations of the candidates (candidates.h), then
 * changes of the best one. */
#ifndef SPEX_MODEL_FIT_SEARCH_H
#define SPEX_MODEL_FIT_SEARCH_H

#include "model/fit/hypothesis.h"

/* Finds *best. 0 or -ENOMEM. */
int spex_search(struct spex_fit_workspace *workspace, struct spex_hypothesis *best);

/* Calls `visit` with each form that differs from the best one in one function, or, where one
 * parameter varies, has one or two terms, if its score is not far above that of the best. */
typedef void spex_rival_visitor(void *user, const struct spex_hypothesis *rival,
                                const struct spex_least_squares *fit);
void spex_search_rivals(struct spex_fit_workspace *workspace, struct spex_hypothesis *best,
                        spex_rival_visitor *visit, void *user);

#endif
