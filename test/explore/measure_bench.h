/* SPDX-License-Identifier: MIT */
/* Records made up by the test, whose figures are known. A tick is a millisecond. */
#ifndef SPEX_TEST_MEASURE_BENCH_H
#define SPEX_TEST_MEASURE_BENCH_H

#include <math.h>

#include "../check.h"
#include "measure/measure.h"

enum { PROBE = 7, OTHER = 8 };

#define TICKS_PER_SECOND 1000

struct bench {
    struct spex_space space;
    struct spex_criterion criterion;
    struct spex_measure *measure;
};

static inline void begin(struct bench *bench, const char *metric, uint32_t type, double warmup) {
    *bench = (struct bench){
        .criterion = {.probe = "q", .metric = metric, .goal = SPEX_MAXIMISE},
        .space = {.size = sizeof(bench->space),
                  .objective_count = 1,
                  .criterion_count = 1,
                  .criteria = &bench->criterion,
                  .rules = {.records_per_thread = 6,
                            .warmup_seconds = warmup,
                            .duration_seconds = 60}},
    };
    assert_int_equal(spex_measure_create(&bench->space, TICKS_PER_SECOND, &bench->measure), 0);
    spex_measure_probe(bench->measure, 0, PROBE, type);
}

static inline void end(struct bench *bench) {
    spex_measure_destroy(bench->measure);
}

/* `value` is what the probe measured: ticks, or a snapshot's first value. */
static inline struct spex_record record(uint64_t timestamp, uint32_t type, uint32_t weight,
                                        uint64_t value) {
    struct spex_record made = {.timestamp = timestamp,
                               .probe_type = type,
                               .thread_id = 1,
                               .weight = weight,
                               .probe_id = PROBE};
    if (type == SPEX_CNT || type == SPEX_TPT)
        made.fields[made.field_count++] = weight;
    if (type != SPEX_CNT)
        made.fields[made.field_count++] = value;
    return made;
}

static inline struct spex_record from(struct spex_record made, uint32_t thread, uint16_t probe) {
    made.thread_id = thread;
    made.probe_id = probe;
    return made;
}

static inline size_t add(struct bench *bench, const struct spex_record *records, size_t count) {
    const struct spex_record *used;
    size_t used_count;
    assert_int_equal(spex_measure_add(bench->measure, records, count, &used, &used_count), 0);
    return count - used_count;
}

static inline size_t add_one(struct bench *bench, struct spex_record one) {
    return add(bench, &one, 1);
}

/* NaN while there is none. */
static inline double value_now(const struct bench *bench) {
    struct spex_measured measured;
    spex_measure_values(bench->measure, &measured);
    return measured.value;
}

static inline double value(const struct bench *bench) {
    double found = value_now(bench);
    assert_false(isnan(found));
    return found;
}

static inline void close_to(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance * fabs(expected)))
        fail_msg("%.17g is not %.17g", found, expected);
}

#endif
