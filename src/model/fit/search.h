/* SPDX-License-Identifier: MIT */
/* The best form for the points: all combinations of the candidates, then what is near the best of them. */
#ifndef SPEX_MODEL_FIT_SEARCH_H
#define SPEX_MODEL_FIT_SEARCH_H

#include "model/fit/hypothesis.h"

/* 0 or -ENOMEM. */
int spex_search(struct spex_bench *bench, struct spex_hypothesis *best);

#endif
