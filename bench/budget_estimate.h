/* SPDX-License-Identifier: MIT */
/* The slowdown and its interval.
 *
 * What others do on the machine makes either process slower for a while, up to twice, and such a while ends in the
 * middle of something. So a figure is taken of each four slices A B B A, in which what changes steadily cancels, and
 * the estimate is the midmean of the figures, the mean of those between the quartiles; of the logarithms, for which
 * it is the same whether A or B was disturbed. A mean of all would have an interval several times as wide.
 *
 * The controller makes slices that follow each other alike, for about half a second, so the interval is not that of
 * independent figures: it comes from the spread of the midmeans of batches of half a second and more. */
#ifndef SPEX_BENCH_BUDGET_ESTIMATE_H
#define SPEX_BENCH_BUDGET_ESTIMATE_H

#include <stddef.h>

/* Of four slices: seconds of CPU time for an operation with spex and without it. */
struct budget_figure {
    double with;
    double without;
};

/* Figures in a batch: 0.48 s of either process, as a slice is 20 ms. */
enum { BUDGET_BATCH = 12 };

struct budget_estimate {
    double slowdown;
    double ci95;    /* half width */
    double of_sums; /* the slowdown of all CPU time, disturbed or not */
    double noise;   /* half of what lies between the quartiles of the figures */
};

/* At least two batches of figures. */
struct budget_estimate budget_estimate(const struct budget_figure *figures, size_t count);

#endif
