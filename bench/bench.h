/* SPDX-License-Identifier: MIT */
/* What benches share that are no benchmarks of spex/bench.h, because they measure more than how long
 * a body takes: their options, and medians with intervals. Medians are used because a
 * disturbance makes a run longer, never shorter. */
#ifndef SPEX_BENCH_H
#define SPEX_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A median and its 95 % confidence interval. */
struct bench_result {
    double median;
    double low;
    double high;
};

/* The median of values[0..count), count at least 1. Sorts the values. */
struct bench_result bench_median(double *values, size_t count);

/* Reads so many numbers, in lines. False: there are fewer. */
bool bench_read(FILE *file, double *numbers, size_t count);

/* Reads --json, and --rounds N from `least` to `most`. *rounds stays as it is where the option
 * is absent. Ends the program with status 2 after any other argument. */
void bench_options(int argc, char **argv, size_t least, size_t most, size_t *rounds, bool *json);

#endif
