/* SPDX-License-Identifier: MIT */
/* Two parts of traces side by side: of each probe the rates, means and medians, their ratios with
 * 95 % intervals, and how likely a difference as great is where there is none. */
#ifndef SPEX_TOOLS_RECORD_COMPARISON_H
#define SPEX_TOOLS_RECORD_COMPARISON_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "tools/record/slices.h"
#include "trace/read/part.h"

/* One side: a part of a trace, its slices, and its profiles, which know executions that no record
 * stands for: those of lost records, and those while a budget held the probe off. */
struct spex_stats_side {
    const struct spex_recording *trace;
    uint64_t from, to;
    struct spex_slices *slices;
    struct spex_part *part;
};

/* Compares probes of the same program, name and type. Prints a table. 0 or -ENOMEM. */
int spex_stats_comparison_print(FILE *out, const struct spex_stats_side *a,
                                const struct spex_stats_side *b);

/* The same as an array; NULL: no memory. */
json_t *spex_stats_comparison_json(const struct spex_stats_side *a,
                                   const struct spex_stats_side *b);

#endif
