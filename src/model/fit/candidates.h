/* SPDX-License-Identifier: MIT */
/* Which functions of each parameter are worth a try in all combinations. */
#ifndef SPEX_MODEL_FIT_CANDIDATES_H
#define SPEX_MODEL_FIT_CANDIDATES_H

#include "model/fit/problem.h"

enum { SPEX_CANDIDATES_MAX = 5 };

struct spex_candidates {
    size_t count;
    uint8_t functions[SPEX_CANDIDATES_MAX];
    double
        gain; /* the share of what varies with this parameter alone that the best of them explains, times its
                    amount: of parameters the one with more matters more */
};

/* 0 or -ENOMEM. `candidates` has one a parameter. */
int spex_candidates_find(const struct spex_problem *problem, struct spex_candidates *candidates);

#endif
