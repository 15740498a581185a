/* SPDX-License-Identifier: MIT */
/* Finds out whether a series of values has settled, and where its warm-up ends. */
#ifndef SPEX_MEASURE_STEADY_H
#define SPEX_MEASURE_STEADY_H

#include <stdbool.h>
#include <stddef.h>

#define SPEX_STEADY_LEAST 10
#define SPEX_STEADY_MOST  128

struct spex_steady {
    bool steady;
    /* The first value after the warm-up; if the series is not steady, the best such point. */
    size_t from;
};

/* `values`: batch means in the order of time, at most SPEX_STEADY_MOST; fewer than
 * SPEX_STEADY_LEAST are not steady. A change of less than `tolerance`, a share of the level, does
 * not count. */
struct spex_steady spex_steady_of(const double *values, size_t count, double tolerance);

#endif
