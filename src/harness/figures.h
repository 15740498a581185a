/* SPDX-License-Identifier: MIT */
/* What was measured of a benchmark: its repetitions, the times of single iterations, and the
 * estimate that they make. */
#ifndef SPEX_HARNESS_FIGURES_H
#define SPEX_HARNESS_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/ranks.h"
#include "stats/histogram.h"

enum { SPEX_BENCH_EVENTS_MAX = 12, SPEX_BENCH_COUNTERS_MAX = 8, SPEX_BENCH_TEXT_BYTES = 128 };

/* A figure of the benchmark's own: the sum over batches and threads, and the number of them. */
struct spex_bench_own {
    char name[32];
    double sum, count;
};

/* The clocks, in nanoseconds and ticks. */
struct spex_bench_time {
    double real_ns, cpu_ns, ticks;
};

/* Figures of an iteration in one repetition. Processes of one program send it to each other. */
struct spex_bench_repetition {
    /* Of the batches that were not disturbed, and the mean of all. */
    struct spex_bench_time time, mean;
    /* Of all batches and threads. */
    double iterations;
    /* 0: not told. */
    double bytes, items;
    /* NAN: not counted. */
    double events[SPEX_BENCH_EVENTS_MAX];
    struct spex_bench_own own[SPEX_BENCH_COUNTERS_MAX];
    size_t own_count;
    size_t process;
};

struct spex_bench_figures {
    struct spex_bench_repetition *repetitions;
    size_t count, room;
    /* Ticks of single iterations, without the clock's own; NULL: none was measured. */
    struct spex_histogram *singles;
    /* The real time in ns. Its interval is that of processes where there are several. */
    struct spex_estimate estimate;
    double cpu_ns;
    /* Of all batches of all repetitions. */
    struct spex_bench_time mean;
    /* Why it was not measured; empty: it was. */
    char error[SPEX_BENCH_TEXT_BYTES];
};

/* Adds a repetition. 0 or -ENOMEM. */
int spex_bench_figures_add(struct spex_bench_figures *figures,
                           const struct spex_bench_repetition *repetition);

/* Adds times of single iterations. 0 or -ENOMEM. */
int spex_bench_figures_add_singles(struct spex_bench_figures *figures,
                                   const struct spex_histogram *singles);

void spex_bench_figures_free(struct spex_bench_figures *figures);

/* Makes the estimate from the repetitions that there are, at least one. 0 or -ENOMEM. */
int spex_bench_figures_estimate(struct spex_bench_figures *figures);

/* Half of the interval as a share of the estimate; INFINITY: not known. */
double spex_bench_figures_error(const struct spex_bench_figures *figures);

/* Whether that share is below `precision`. It never is below 0, also where repetitions agree to the
 * tick. */
bool spex_bench_figures_precise(const struct spex_bench_figures *figures, double precision);

/* The median of values, at least one; sorts them. */
double spex_bench_median(double *values, size_t count);

/* The time of batches that nothing disturbs, of so many, at least one: the mean of those that
 * differ least from each other, a fifth of all (an estimate of the mode; Venter, 1967). The others
 * may all be disturbed, each in its own way. The median of fewer than 40. Sorts the values. */
double spex_bench_undisturbed(double *values, size_t count);

#endif
