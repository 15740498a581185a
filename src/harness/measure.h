/* SPDX-License-Identifier: MIT */
/* Measures a benchmark once: a repetition. */
#ifndef SPEX_HARNESS_MEASURE_H
#define SPEX_HARNESS_MEASURE_H

#include "harness/state.h"

/* How repetitions are made. */
struct spex_bench_manner {
    /* Real time of the batches of a repetition, and of those before them that do not count. */
    double seconds, warmup_seconds;
    /* Whether single iterations are timed, too, and what the clock takes of their time. */
    bool singles;
    uint64_t clock_ticks;
    /* Time of the clocks in a batch, which is subtracted, too. */
    struct spex_bench_time clock;
    double ticks_per_second;
    const struct spex_bench_events *events;
};

/* Sets what the clocks take: of a batch, and of an iteration where single ones are timed, the
 * medians of empty ones. */
void spex_bench_clock_measure(struct spex_bench_manner *manner);

/* Measures. `*iterations`: those of a batch in each thread; 0: they are found. An error is in the
 * instance's figures. 0, -ENOMEM, or the negative errno value of starting threads. */
int spex_bench_measure(struct spex_bench_instance *instance, const struct spex_bench_manner *manner,
                       uint64_t *iterations);

#endif
