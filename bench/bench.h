/* SPDX-License-Identifier: MIT */
/* What benches have in common: their options, and medians with their intervals, because what disturbs a run makes it
 * longer, never shorter. */
#ifndef SPEX_BENCH_H
#define SPEX_BENCH_H

#include <stdbool.h>
#include <stddef.h>

/* A median and the 95 % confidence interval of it. */
struct bench_result {
    double median;
    double low;
    double high;
};

/* Of values[0..count), count at least 1, which is sorted by the call. */
struct bench_result bench_median(double *values, size_t count);

/* --json, and --rounds N from `least` to `most`; *rounds stays as it is where it is not given. Ends the program with 2
 * when there is anything else. */
void bench_options(int argc, char **argv, size_t least, size_t most, size_t *rounds, bool *json);

#endif
