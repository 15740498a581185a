/* SPDX-License-Identifier: MIT */
/* Results as a table, JSON and CSV. */
#ifndef SPEX_HARNESS_REPORT_H
#define SPEX_HARNESS_REPORT_H

#include <stdio.h>

#include "harness/machine.h"
#include "harness/measure.h"
#include "harness/settings.h"

struct spex_bench_report {
    const struct spex_bench_instances *instances;
    const struct spex_bench_manner *manner;
    const struct spex_bench_settings *settings;
    const struct spex_bench_machine *machine;
    /* JSON has no rows of single repetitions. */
    bool aggregates_only;
};

void spex_bench_report_console(const struct spex_bench_report *report, FILE *out);

/* As Google Benchmark writes them, with more members. */
void spex_bench_report_json(const struct spex_bench_report *report, FILE *out);
void spex_bench_report_csv(const struct spex_bench_report *report, FILE *out);

/* The quantiles of single iterations that reports have. */
enum { SPEX_BENCH_QUANTILES = 5 };
extern const char *const spex_bench_quantile_names[SPEX_BENCH_QUANTILES];

/* In ns; the last is the greatest. False: none was measured. */
bool spex_bench_quantiles(const struct spex_bench_report *report,
                          const struct spex_bench_figures *figures,
                          double ns[SPEX_BENCH_QUANTILES]);

#endif
