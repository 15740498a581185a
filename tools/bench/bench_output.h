/* SPDX-License-Identifier: MIT */
/* What `spex bench` has found, for people and as JSON. */
#ifndef SPEX_TOOLS_BENCH_OUTPUT_H
#define SPEX_TOOLS_BENCH_OUTPUT_H

#include <stdint.h>
#include <stdio.h>

#include "tools/bench/comparison.h"

struct spex_bench_findings {
    const struct spex_bench_results *results;
    /* Valid if there are two sides. */
    const struct spex_bench_verdict *verdicts;
    size_t verdict_count;
    unsigned sides;
    const char *names[2];
    const char *figure;
    double allowed;
    unsigned long rounds;
    uint64_t seed;
    /* The share of the CPUs that other programs took. */
    double others;
    /* Reasons to doubt the figures. */
    char **doubts;
    size_t doubt_count;
};

void spex_bench_findings_print(const struct spex_bench_findings *findings, FILE *out);

/* NULL: out of memory. */
json_t *spex_bench_findings_json(const struct spex_bench_findings *findings);

#endif
