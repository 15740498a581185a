/* SPDX-License-Identifier: MIT */
/* Where a measurement begins: fixed warm-ups, and those that last until the run is steady. */
#include <math.h>

#include "../check.h"
#include "measure/measure.h"
#include "measure/warmup.h"
#include "measure_bench.h"

/* The warm-up runs from the first record on; the first at or after its end is t0. */
TEST(warmup) {
    struct bench bench;
    begin(&bench, "mean", SPEX_LAT, 0.1);
    assert_false(spex_measure_started(bench.measure));
    static const uint64_t before[] = {7000, 7050, 7099, 7100};
    for (size_t b = 0; b < COUNT_OF(before); b++) {
        assert_int_equal(add_one(&bench, record(before[b], SPEX_LAT, 1, 900)), 1);
        assert_true(spex_measure_started(bench.measure));
    }
    assert_true(isnan(value_now(&bench)));
    assert_int_equal(add_one(&bench, record(7101, SPEX_LAT, 1, 30)), 0);
    assert_int_equal(add_one(&bench, record(7150, SPEX_LAT, 1, 50)), 0);
    close_to(value(&bench), 0.040, 1e-12);
    close_to(spex_measure_run(bench.measure).seconds, 0.05, 1e-12);
    end(&bench);
}

/* One batch that holds the warm-up, t0 and the first records used. */
TEST(batch) {
    struct bench bench;
    struct spex_record records[5];
    for (uint64_t r = 0; r < COUNT_OF(records); r++)
        records[r] = record(1000 + 60 * r, SPEX_LAT, 1, 10 * r);
    begin(&bench, "mean", SPEX_LAT, 0.1);
    assert_int_equal(add(&bench, records, 2), 2);
    assert_int_equal(add(&bench, records + 2, 3), 1);
    close_to(value(&bench), 0.035, 1e-12);
    end(&bench);
}

/* Before the warm-up is over a late record must not open the interval with an older t0. */
TEST(late_in_warmup) {
    struct bench bench;
    begin(&bench, "throughput", SPEX_CNT, 0.1);
    add_one(&bench, record(1000, SPEX_CNT, 1, 0));
    assert_int_equal(add_one(&bench, record(400, SPEX_CNT, 1, 0)), 1);
    assert_int_equal(add_one(&bench, record(1099, SPEX_CNT, 1, 0)), 1);
    assert_true(isnan(value_now(&bench)));
    add_one(&bench, record(1100, SPEX_CNT, 1, 0));
    add_one(&bench, record(1200, SPEX_CNT, 1, 0));
    close_to(value(&bench), 10, 1e-12);
    end(&bench);
}

/* Until the run is steady. */
#define AUTO (-1)

/* A run that may take so many ticks, so that its warm-up is looked for after a hundredth of
 * them. */
static void begin_auto(struct bench *bench, uint64_t ticks) {
    begin(bench, "mean", SPEX_LAT, AUTO);
    spex_measure_destroy(bench->measure);
    bench->space.rules.duration_seconds = (double)ticks / TICKS_PER_SECOND;
    assert_int_equal(spex_measure_create(&bench->space, TICKS_PER_SECOND, &bench->measure), 0);
    spex_measure_probe(bench->measure, 0, PROBE, SPEX_LAT);
}

/* A record each tick and more; what it takes is settled from record `from` on, 9 times as much
 * before. Returns how many records it took until they were used, and in *used how many of them
 * were; both SIZE_MAX when they never were. */
static size_t make(struct bench *bench, size_t count, size_t from, size_t *used) {
    uint64_t random = 3, now = 1000;
    *used = SIZE_MAX;
    for (size_t r = 0; r < count; r++) {
        uint64_t took = 100 + random_below(&random, 20);
        now += 1 + random_below(&random, 2);
        struct spex_record one = record(now, SPEX_LAT, 1, r < from ? 9 * took : took);
        const struct spex_record *records;
        size_t used_count;
        assert_int_equal(spex_measure_add(bench->measure, &one, 1, &records, &used_count), 0);
        if (!used_count)
            continue;
        *used = used_count;
        return r + 1;
    }
    return SIZE_MAX;
}

/* As soon as the first hundredth of the time that a run may take is over. */
TEST(settled) {
    struct bench bench;
    size_t used;
    begin_auto(&bench, 60000);
    size_t until = make(&bench, 5000, 0, &used);
    assert_in_range(until, 300, 600);
    assert_int_equal(used, until - 1);
    assert_int_equal(spex_measure_run(bench.measure).records, until - 1);
    assert_true(spex_measure_steady(bench.measure));
    close_to(value(&bench), 0.1095, 0.01);
    end(&bench);
}

TEST(settles) {
    struct bench bench;
    size_t used;
    begin_auto(&bench, 1000000);
    assert_in_range(make(&bench, 50000, 5000, &used), 10000, 13000);
    assert_in_range(used, 4000, 8000);
    close_to(value(&bench), 0.1095, 0.01);
    assert_true(spex_measure_steady(bench.measure));
    end(&bench);
}

/* More records than are kept: of those after the warm-up, the latest are used. */
TEST(settles_late) {
    struct bench bench;
    size_t used;
    size_t from = SPEX_WARMUP_RECORDS * 3;
    begin_auto(&bench, from * 200);
    assert_in_range(make(&bench, from * 3, from, &used), 2 * from, 3 * from);
    assert_in_range(used, SPEX_WARMUP_RECORDS / 2 - 1, SPEX_WARMUP_RECORDS);
    close_to(value(&bench), 0.1095, 0.01);
    end(&bench);
}

/* A run that ends before that is measured from the best point on, and says so. */
TEST(unsettled) {
    struct bench bench;
    size_t used;
    const struct spex_record *records;
    begin_auto(&bench, 1000000);
    assert_int_equal(make(&bench, 9000, 5000, &used), SIZE_MAX);
    assert_true(isnan(value_now(&bench)));
    assert_int_equal(spex_measure_run(bench.measure).records, 0);
    assert_int_equal(spex_measure_end(bench.measure, &records, &used), 0);
    assert_in_range(used, 4000, 6000);
    assert_true(value(&bench) > 0.1);
    assert_false(spex_measure_steady(bench.measure));
    assert_int_equal(spex_measure_end(bench.measure, &records, &used), 0);
    assert_int_equal(used, 0);
    end(&bench);
}

/* Too few to tell: all of them are used. */
TEST(too_few) {
    struct bench bench;
    size_t used;
    const struct spex_record *records;
    begin(&bench, "mean", SPEX_LAT, AUTO);
    assert_int_equal(spex_measure_end(bench.measure, &records, &used), 0);
    assert_int_equal(used, 0);
    end(&bench);
    begin(&bench, "mean", SPEX_LAT, AUTO);
    assert_int_equal(make(&bench, 20, 0, &used), SIZE_MAX);
    assert_int_equal(spex_measure_end(bench.measure, &records, &used), 0);
    assert_int_equal(used, 19);
    close_to(value(&bench), 0.11, 0.1);
    assert_false(spex_measure_steady(bench.measure));
    end(&bench);
}

/* After a fixed warm-up that was too short. */
TEST(trend) {
    struct bench bench;
    begin(&bench, "mean", SPEX_LAT, 0.1);
    for (uint64_t r = 0; r < 2000; r++)
        add_one(&bench, record(1000 + r, SPEX_LAT, 1, 100 + r % 7 + r / 20));
    assert_false(spex_measure_steady(bench.measure));
    end(&bench);
    begin(&bench, "mean", SPEX_LAT, 0.1);
    for (uint64_t r = 0; r < 2000; r++)
        add_one(&bench, record(1000 + r, SPEX_LAT, 1, 100 + r % 7));
    assert_true(spex_measure_steady(bench.measure));
    end(&bench);
}
