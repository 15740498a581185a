/* SPDX-License-Identifier: MIT */
/* The slowdown and its interval.
 *
 * Other programs on the machine slow either process down for a while, up to twice, and such a
 * while ends at any time. A figure is therefore taken of slices A B B A, in which a steady change
 * cancels. The estimate is the midmean of the figures, the mean of those between
 * the quartiles; of their logarithms, so that a disturbance of A and one of B weigh the same. A
 * mean of all figures would have an interval several times as wide.
 *
 * The controller spends a budget unevenly, at one time more than at another. That is no error of
 * the slowdown in this run. The midmean is therefore that of what figures have beyond the
 * library's belief of the same time, and the mean of all that it believed is added: the belief
 * makes an interval narrow where it is right, and does not move the estimate where it is wrong.
 *
 * The interval is by Student's distribution and the Winsorized variance, for which the figures that
 * are left out take the value of the outermost that is not (Tukey and McLaughlin, Sankhya A 25,
 * 1963). */
#ifndef SPEX_BENCH_BUDGET_ESTIMATE_H
#define SPEX_BENCH_BUDGET_ESTIMATE_H

#include <stddef.h>

/* Seconds of CPU time for an operation in some slices, with spex and without it. */
struct budget_figure {
    double with;
    double without;
    /* By how much the library believes to have slowed the program down meanwhile. */
    double believed;
};

struct budget_estimate {
    double slowdown;
    /* Half of the 95 % interval. */
    double ci95;
    /* The slowdown by the sums of all CPU time, disturbed or not. */
    double of_sums;
    /* Half of the distance between the quartiles of the figures. */
    double noise;
};

/* `count`: at least BUDGET_FIGURES_LEAST. */
enum { BUDGET_FIGURES_LEAST = 4 };

struct budget_estimate budget_estimate(const struct budget_figure *figures, size_t count);

#endif
