/* SPDX-License-Identifier: MIT */
/* Sites whose executions are numbered and counted in a process in which spex collects, with small
 * rings. A test that wants every record waits for it with drain(). */
#ifndef SPEX_TEST_SAMPLED_SITES_H
#define SPEX_TEST_SAMPLED_SITES_H

#include <sched.h>
#include <stdbool.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "collect/metrics.h"
#include "probe/threads.h"
#include "ring/doorbell.h"
#include "ring/probe_type.h"

enum { COUNTED_ID = 7, NUMBERED_ID, OTHER_ID };
enum { RING_RECORDS = 1024, THREADS = 4, RECORDS_MAX = 1 << 19 };

/* What a capture has got. */
static struct {
    struct spex_record records[RECORDS_MAX];
    size_t count;
    size_t all; /* whether there was room or not */
    bool captured;
} seen;

COMPILED_ONCE static void execute(void) {
    CNT_PROBE_BEGIN(COUNTED_ID, 1);
    CNT_PROBE_END(COUNTED_ID);
}

COMPILED_ONCE static void around(void (*inside)(void)) {
    CNT_PROBE_BEGIN(COUNTED_ID, 1);
    inside();
    CNT_PROBE_END(COUNTED_ID);
}

COMPILED_ONCE static void number(uint64_t execution) {
    SNAPSHOT_PROBE(NUMBERED_ID, 1, execution);
}

COMPILED_ONCE static void number_other(uint64_t execution) {
    SNAPSHOT_PROBE(OTHER_ID, 1, execution);
}

static inline void work(uint64_t times) {
    while (times-- > 0)
        execute();
}

/* In all, so that it is the same each time what is drawn. */
static inline int seed(void **state) {
    (void)state;
    int err = spex_threads_init();
    spex_threads_seed(1);
    return err;
}

static inline int start(void **state) {
    const struct spex_options options = {.size = sizeof(options),
                                         .out = "/dev/null",
                                         .ring_records = RING_RECORDS,
                                         .no_calibration = true};
    (void)state;
    return spex_start(&options);
}

static inline int stop(void **state) {
    (void)state;
    seen.captured = false;
    return spex_stop();
}

static inline void set(const char *selection) {
    assert_true(spex_set(selection) >= 0);
}

static inline struct spex_metrics_totals totals(uint32_t type) {
    spex_metrics_lock();
    struct spex_metrics_totals now = spex_metrics_totals(spex_probe_type_ring(type));
    spex_metrics_unlock();
    return now;
}

/* Until all that has been recorded is in the metrics and captures, or lost. */
static inline void drain(uint32_t type) {
    spex_doorbell_ring();
    for (struct spex_metrics_totals now = totals(type); now.records + now.lost < now.produced;
         now = totals(type))
        sched_yield();
    /* They are in the metrics first. */
    while (seen.captured && __atomic_load_n(&seen.all, __ATOMIC_ACQUIRE) <
                                totals(SPEX_CNT).records + totals(SPEX_SNAPSHOT).records)
        sched_yield();
}

static const char *const selections[] = {
    "7",     "7@2",   "7@100",    "7@1000000", "7@~2",       "7@~100",    "7@~1000000",
    "7@2x2", "7@3x5", "7@100x64", "7@1000x10", "7@16777214", "7@10x1000",
};

#endif
