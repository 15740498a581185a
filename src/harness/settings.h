/* SPDX-License-Identifier: MIT */
/* The options of a program of benchmarks. Their names are Google Benchmark's where it has them. */
#ifndef SPEX_HARNESS_SETTINGS_H
#define SPEX_HARNESS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spex_bench_format { SPEX_BENCH_CONSOLE, SPEX_BENCH_JSON, SPEX_BENCH_CSV };

struct spex_bench_settings {
    /* NULL: all benchmarks. */
    const char *filter;
    bool list;
    enum spex_bench_format format, out_format;
    /* NULL: no file. */
    const char *out;
    /* 0: as many as the precision needs. */
    unsigned repetitions;
    /* Of a repetition; of all repetitions of a benchmark; before the first. */
    double min_seconds, max_seconds, warmup_seconds;
    /* Half of the interval, as a share of the estimate. */
    double precision;
    unsigned processes;
    uint64_t seed;
    bool interleave, singles;
    /* Without the single repetitions: everywhere, and on standard output. */
    bool aggregates_only, aggregates_only_displayed;
    /* Values of Google Benchmark's options that have no effect here. */
    const char *colour;
    bool tabular;
    /* As given; NULL: none. */
    const char *counters;
    /* Where a child of the harness writes what it measures; -1: this is no child. */
    int child;
};

/* Reads the command line; --help prints the options and ends the process. 0, or -EINVAL with a line
 * on standard error. */
int spex_bench_settings_take(struct spex_bench_settings *settings, int argc, char **argv);

#endif
