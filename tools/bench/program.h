/* SPDX-License-Identifier: MIT */
/* Runs a program of benchmarks, and reads what it writes to --benchmark_out. */
#ifndef SPEX_TOOLS_BENCH_PROGRAM_H
#define SPEX_TOOLS_BENCH_PROGRAM_H

#include <stdbool.h>

#include <jansson.h>

#include "text/error.h"

struct spex_bench_program {
    const char *path;
    /* The user's options, up to NULL. */
    char *const *options;
    double min_seconds;
    /* What it writes to standard error is shown. */
    bool heard;
};

/* Runs it once, with one repetition of each benchmark. *output is to be released. 0; or a negative
 * errno value with a line in `error`: -EINTR when a signal has ended it that ends this command,
 * too. */
int spex_bench_program_run(const struct spex_bench_program *program, json_t **output,
                           struct spex_error *error);

#endif
