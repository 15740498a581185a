/* SPDX-License-Identifier: MIT */
/* The functions of each parameter that the search (search.h) tries in all combinations. */
#ifndef SPEX_MODEL_FIT_CANDIDATES_H
#define SPEX_MODEL_FIT_CANDIDATES_H

#include "model/fit/problem.h"

enum { SPEX_CANDIDATES_MAX = 5 };

struct spex_candidates {
    size_t count;
    uint8_t functions[SPEX_CANDIDATES_MAX];
    /* Mean variance, relative to the time, that the best function explains beyond a constant.
     * Parameters with greater gains are combined first. */
    double gain;
};

/* Fills in `candidates`, one for each parameter. 0 or -ENOMEM. */
int spex_candidates_find(const struct spex_problem *problem, struct spex_candidates *candidates);

#endif
