/* SPDX-License-Identifier: MIT */
/* Searches the best form for the points: all combinations of the candidates (candidates.h), then
 * changes of the best one. */
#ifndef SPEX_MODEL_FIT_SEARCH_H
#define SPEX_MODEL_FIT_SEARCH_H

#include "model/fit/hypothesis.h"

/* Finds *best. 0 or -ENOMEM. */
int spex_search(struct spex_bench *bench, struct spex_hypothesis *best);

#endif
