/* SPDX-License-Identifier: MIT */
/* Simulated times of a benchmark on a busy machine: a few per cent of noise to one side, and now
 * and then a run that takes much longer, whatever is measured. */
#ifndef TEST_HARNESS_NOISE_H
#define TEST_HARNESS_NOISE_H

#include <math.h>

#include "base/random.h"

static inline double uniform(struct spex_random *random) {
    return ((double)(spex_random_next(random) >> 11) + 0.5) * 0x1p-53;
}

/* Of exponential distribution: most values are close to `time`, none is below. */
static inline double noisy(struct spex_random *random, double time) {
    double value = time * (1 - 0.012 * log(uniform(random)));
    return uniform(random) < 0.05 ? value * (1 + 3 * uniform(random)) : value;
}

#endif
