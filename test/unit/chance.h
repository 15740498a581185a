/* SPDX-License-Identifier: MIT */
/* Chance for simulations, the same in every run. */
#ifndef SPEX_TEST_CHANCE_H
#define SPEX_TEST_CHANCE_H

#include <math.h>

#include "../check.h"

/* From 0 to 1. */
static inline double chance_uniform(uint64_t *state) {
    return (double)(random_next(state) >> 11) / 9007199254740992.0;
}

/* Of a Poisson distribution (Knuth's way; where there are many, the normal one that it comes
 * to). */
static inline double chance_poisson(uint64_t *state, double mean) {
    enum { MANY = 30 };
    double count = 0;
    if (mean < MANY) {
        for (double product = chance_uniform(state), end = exp(-mean); product > end;
             product *= chance_uniform(state))
            count++;
        return count;
    }
    double normal = -6;
    for (int i = 0; i < 12; i++)
        normal += chance_uniform(state);
    return mean + normal * sqrt(mean);
}

#endif
