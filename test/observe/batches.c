/* SPDX-License-Identifier: MIT */
/* Records of a trace as they reach a tracer: in batches of one ring, so that what was lost counts
 * with the records that lie next to it. */
#include <errno.h>

#include "../check.h"
#include "../scarce_memory.h"
#include "ring/probe_type.h"
#include "trace/read/batches.h"

/* Records that a batch has room for, and CPUs whose rings have places of their own. */
enum { BATCH = 256, CPUS = 64 };

static struct spex_record record_of(uint16_t cpu, uint32_t type, uint16_t probe) {
    return (struct spex_record){.probe_type = type,
                                .probe_id = probe,
                                .cpu_id = cpu,
                                .weight = 1,
                                .field_count = 1,
                                .fields = {5}};
}

struct traced {
    struct spex_tracer *tracer;
    struct spex_batches *batches;
};

static void traced_begin(struct traced *traced) {
    assert_int_equal(spex_tracer_create(&traced->tracer), 0);
    traced->batches = spex_batches_create(traced->tracer);
    assert_non_null(traced->batches);
}

static void traced_end(struct traced *traced) {
    spex_batches_destroy(traced->batches);
    spex_tracer_destroy(traced->tracer);
}

static void add(struct traced *traced, struct spex_record record, uint32_t lost) {
    record.lost = lost;
    record.gap = lost > 0;
    assert_int_equal(spex_batches_add(traced->batches, &record), 0);
}

static struct spex_metrics metrics_of(const struct traced *traced, uint16_t probe, uint32_t type) {
    struct spex_metrics metrics = {.records = 0};
    size_t at = spex_tracer_find(traced->tracer, probe, type);
    if (at < spex_tracer_probes(traced->tracer))
        spex_tracer_metrics(traced->tracer, at, &metrics);
    return metrics;
}

static void expect_count(const struct traced *traced, uint16_t probe, uint32_t type,
                         uint64_t records, double count) {
    struct spex_metrics metrics = metrics_of(traced, probe, type);
    assert_int_equal(metrics.records, records);
    if (metrics.count < count - 1e-6 || metrics.count > count + 1e-6)
        fail_msg("probe %d: %.9g instead of %.9g", probe, metrics.count, count);
}

/* A probe on each CPU and of each type: each ring's records stand for all that it has lost, whatever
 * came between from others, which CPUs share a place too. */
TEST(losses_count_with_their_ring) {
    enum { RINGS = 3 * CPUS, RECORDS = 40000 };
    static uint64_t records[RINGS][2], lost[RINGS][2];
    static const uint32_t types[] = {SPEX_LAT, SPEX_LLC};
    struct traced traced;
    uint64_t seed = 1;
    traced_begin(&traced);
    for (unsigned r = 0; r < RECORDS; r++) {
        uint16_t cpu = (uint16_t)(random_below(&seed, 2) ? random_below(&seed, RINGS)
                                                         : random_below(&seed, 2) * CPUS);
        unsigned type = (unsigned)random_below(&seed, 2);
        uint32_t more = random_below(&seed, 50) ? 0 : (uint32_t)random_below(&seed, 1000) + 1;
        records[cpu][type]++;
        lost[cpu][type] += more;
        add(&traced, record_of(cpu, types[type], (uint16_t)(1 + cpu)), more);
    }
    assert_int_equal(spex_batches_finish(traced.batches), 0);
    assert_int_equal(spex_batches_finish(traced.batches), 0); /* nothing is left */
    for (unsigned cpu = 0; cpu < RINGS; cpu++)
        for (unsigned type = 0; type < 2; type++)
            expect_count(&traced, (uint16_t)(1 + cpu), types[type], records[cpu][type],
                         (double)(records[cpu][type] + lost[cpu][type]));
    traced_end(&traced);
}

/* What of the first of two probes in a ring is counted before `count` further records. */
static void expect_batch(unsigned count, bool over) {
    struct traced traced;
    traced_begin(&traced);
    add(&traced, record_of(3, SPEX_LAT, 1), 0);
    for (unsigned r = 0; r < count; r++)
        add(&traced, record_of(3, SPEX_LAT, 2), 0);
    expect_count(&traced, 1, SPEX_LAT, over, over);
    expect_count(&traced, 2, SPEX_LAT, over ? BATCH - 1 : 0, over ? BATCH - 1 : 0);
    assert_int_equal(spex_batches_finish(traced.batches), 0);
    expect_count(&traced, 2, SPEX_LAT, count, count);
    traced_end(&traced);
}

/* Those that are lost are shared by the records of a batch, which is over when it is full. */
TEST(batches_end) {
    struct traced traced;
    expect_batch(BATCH - 1, false);
    expect_batch(BATCH, true);
    traced_begin(&traced);
    add(&traced, record_of(3, SPEX_LAT, 1), 10);
    for (unsigned r = 1; r < 4; r++)
        add(&traced, record_of(3, SPEX_LAT, 2), 0);
    add(&traced, record_of(3 + CPUS, SPEX_LAT, 3), 0);
    add(&traced, record_of(3, SPEX_LAT, 2), 0);
    add(&traced, record_of(3, SPEX_LAT, 2), 5);
    assert_int_equal(spex_batches_finish(traced.batches), 0);
    expect_count(&traced, 1, SPEX_LAT, 1, 14.0 / 4);
    expect_count(&traced, 2, SPEX_LAT, 5, 3 * 14.0 / 4 + 1 + 6);
    expect_count(&traced, 3, SPEX_LAT, 1, 1);
    traced_end(&traced);
}

static int with_little_memory(void *user) {
    struct spex_tracer *tracer = user;
    struct spex_batches *batches = spex_batches_create(tracer);
    int err = batches ? 0 : -ENOMEM;
    for (uint16_t cpu = 0; !err && cpu < 3; cpu++) {
        const struct spex_record record = record_of(cpu, SPEX_LAT, 1);
        err = spex_batches_add(batches, &record);
    }
    if (!err)
        err = spex_batches_finish(batches);
    spex_batches_destroy(batches);
    return err;
}

TEST(without_memory_it_says_so) {
    struct spex_tracer *tracer;
    assert_int_equal(spex_tracer_create(&tracer), 0);
    assert_int_equal(without_each_allocation(with_little_memory, tracer), 1 + 3);
    spex_tracer_destroy(tracer);
}
