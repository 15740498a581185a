/* SPDX-License-Identifier: MIT */
/* What `spex bench` says at its end, in one line. */
#ifndef SPEX_TOOLS_BENCH_BENCH_VERDICT_H
#define SPEX_TOOLS_BENCH_BENCH_VERDICT_H

#include "tools/bench/bench_output.h"

/* To standard error. `seconds`: how long it took; `saved`: the file that keeps it, or NULL. */
void spex_bench_tell_verdict(const struct spex_bench_findings *findings, double seconds,
                             const char *saved);

#endif
