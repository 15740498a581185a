/* SPDX-License-Identifier: MIT */
/* What programs of benchmarks have measured, as they write it: JSON of Google Benchmark. */
#ifndef SPEX_TOOLS_BENCH_RESULTS_H
#define SPEX_TOOLS_BENCH_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "text/error.h"

/* Greatest output of a program, and of a baseline. */
#define SPEX_BENCH_OUTPUT_MAX ((size_t)64 << 20)

/* Values of a figure of one benchmark in one program. */
struct spex_bench_values {
    double *values;
    size_t count, room;
};

/* A benchmark, with the values of up to two sides: programs, or a baseline and a program. */
struct spex_bench_series {
    char *name;
    struct spex_bench_values sides[2];
    /* The first reason why it was not measured; NULL: it was. */
    char *error;
};

struct spex_bench_results {
    /* In the order in which programs told them first. */
    struct spex_bench_series *items;
    size_t count, room;
    /* Of the first output of each side; NULL: none yet. */
    json_t *contexts[2];
};

void spex_bench_results_free(struct spex_bench_results *results);

/* Reads an output: an object with "benchmarks". NULL, with a line in `error` that names its
 * origin. */
json_t *spex_bench_output_read(const char *text, size_t length, const char *origin,
                               struct spex_error *error);

/* Whether the figure is a time, in seconds here: "real_time", "cpu_time" or a percentile. */
bool spex_bench_figure_is_time(const char *figure);

/* Adds the values of a figure (other ones than times as they are) from the repetitions in an
 * output: each one, or their median. Percentiles, "p50" to "max", are those of all repetitions. 0;
 * -EBADMSG: the output is of another kind; -ENOENT: none of its benchmarks has the figure;
 * -ENOMEM. */
int spex_bench_results_add(struct spex_bench_results *results, unsigned side, json_t *output,
                           const char *figure, bool each, const char *origin,
                           struct spex_error *error);

#endif
