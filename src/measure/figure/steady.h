/* SPDX-License-Identifier: MIT */
/* Whether a series has settled, and where its warm-up ends. */
#ifndef SPEX_MEASURE_FIGURE_STEADY_H
#define SPEX_MEASURE_FIGURE_STEADY_H

#include <stdbool.h>
#include <stddef.h>

#define SPEX_STEADY_LEAST 10 /* values: fewer do not tell */
#define SPEX_STEADY_MOST  128

struct spex_steady {
    bool steady;
    /* The first value after the warm-up; the best that there is when it is not steady. */
    size_t from;
};

/* `values`: batch means in the order of time, at most SPEX_STEADY_MOST. A change of less than
 * `tolerance`, a share of the level, does not matter. */
struct spex_steady spex_steady_of(const double *values, size_t count, double tolerance);

#endif
