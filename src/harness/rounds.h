/* SPDX-License-Identifier: MIT */
/* The order in which benchmarks are measured: rounds of one repetition of each. */
#ifndef SPEX_HARNESS_ROUNDS_H
#define SPEX_HARNESS_ROUNDS_H

#include "harness/measure.h"
#include "harness/settings.h"

/* Measures all instances in this process, until the precision is reached, the time is over or the
 * repetitions are made. 0 or a negative errno value. */
int spex_bench_rounds(struct spex_bench_instances *instances, struct spex_bench_manner *manner,
                      const struct spex_bench_settings *settings);

#endif
