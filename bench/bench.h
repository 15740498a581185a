/* SPDX-License-Identifier: MIT */
/* Cases that are timed in turn, round after round, so that what drifts on a machine drifts for all
 * of them; each round's figure of a case is taken against the same round's baseline. */
#ifndef SPEX_BENCH_H
#define SPEX_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_case {
    const char *name;
    const char *probes;                  /* selection while it runs; NULL: every probe off */
    size_t repetitions;                  /* a round */
    uint64_t (*run)(size_t repetitions); /* ticks taken */
};

/* Ticks per repetition, more than the baseline's: the median over the rounds, and the 95 %
 * confidence interval of the median. */
struct bench_result {
    double median;
    double low;
    double high;
};

/* Runs all cases `rounds` times (3 or more), after one round that does not count; cases[0] is the
 * baseline, whose own result is not reduced. 0 or a negative errno value. */
int bench_run(const struct bench_case *cases, size_t count, size_t rounds,
              struct bench_result *results);

/* The interval of values[0..count), which is sorted by the call. */
struct bench_result bench_median(double *values, size_t count);

#endif
