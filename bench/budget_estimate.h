/* SPDX-License-Identifier: MIT */
/* The slowdown and its interval, of pairs of slices.
 *
 * Pairs that follow each other make a block, of which the ratio of sums is one figure: the controller lets probes cost
 * more in one slice and less in the next, but no longer than for half a second, so blocks are as good as independent.
 * The estimate is the mean of the blocks' figures without the highest and the lowest tenth, since what others do on
 * the machine disturbs either process for a while, and much; the interval is Tukey and McLaughlin's for a trimmed mean
 * (1963), by the winsorized variance. */
#ifndef SPEX_BENCH_BUDGET_ESTIMATE_H
#define SPEX_BENCH_BUDGET_ESTIMATE_H

#include <stddef.h>

/* Seconds of CPU time for an operation: with spex, and without it. */
struct budget_pair {
    double with;
    double without;
};

enum { BUDGET_BLOCK_PAIRS = 5 };

struct budget_estimate {
    double slowdown;
    double ci95;      /* half width */
    double deviation; /* of a block's figure: how noisy it was */
};

/* At least two blocks of pairs. */
struct budget_estimate budget_estimate(const struct budget_pair *pairs, size_t count);

#endif
