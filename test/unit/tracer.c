/* SPDX-License-Identifier: MIT */
/* Metrics of records whose statistics are known: computed here once more, in two passes and with
 * more digits. */
#include <math.h>

#include "../check.h"
#include "stats/tracer.h"

enum { RECORDS = 5000 };

static struct spex_tracer *tracer;

static int setup(void **state) {
    (void)state;
    return spex_tracer_create(&tracer);
}

static int teardown(void **state) {
    (void)state;
    spex_tracer_destroy(tracer);
    return 0;
}

static void add(const struct spex_record *records, size_t count) {
    assert_int_equal(spex_tracer_add(tracer, records, count), 0);
}

static struct spex_record snapshot(uint16_t id, uint32_t weight, uint64_t a, uint64_t b) {
    return (struct spex_record){.timestamp = 100,
                                .probe_type = SPEX_SNAPSHOT,
                                .thread_id = 1,
                                .weight = weight,
                                .probe_id = id,
                                .field_count = 2,
                                .fields = {a, b}};
}

static struct spex_record latency(uint16_t id, uint32_t weight, uint64_t ticks) {
    return (struct spex_record){.timestamp = 100,
                                .probe_type = SPEX_LAT,
                                .thread_id = 1,
                                .weight = weight,
                                .probe_id = id,
                                .field_count = 1,
                                .fields = {ticks}};
}

static void expect_near(double got, long double expected, double relative) {
    if (!(fabsl((long double)got - expected) <= fabsl(expected) * (long double)relative))
        fail_msg("%.17g instead of %.17Lg", got, expected);
}

static void expect_series(const struct spex_record *records, size_t count, unsigned series) {
    long double weight = 0, sum = 0, squares = 0;
    double min = INFINITY, max = 0;
    struct spex_series got;
    for (size_t i = 0; i < count; i++) {
        weight += records[i].weight;
        sum += (long double)records[i].fields[series] * records[i].weight;
        min = fmin(min, (double)records[i].fields[series]);
        max = fmax(max, (double)records[i].fields[series]);
    }
    for (size_t i = 0; i < count; i++) {
        long double distance = (long double)records[i].fields[series] - sum / weight;
        squares += distance * distance * records[i].weight;
    }
    spex_tracer_series(tracer, 0, series, &got);
    expect_near(got.mean, sum / weight, 1e-9);
    expect_near(got.deviation, sqrtl(squares / weight), 1e-6);
    assert_true(got.min == min);
    assert_true(got.max == max);
}

/* Executions in regions: a record of weight w counts as w, and adds w (w - 1) to the variance. */
TEST_WITH(records_in_regions_are_counted, setup, teardown) {
    struct spex_record records[] = {latency(1, 1, 5), latency(1, 4, 5), latency(1, 7, 5)};
    records[0].marks = records[1].marks = SPEX_MARK_REGION;
    add(records, COUNT_OF(records));
    struct spex_metrics found;
    spex_tracer_metrics(tracer, 0, &found);
    assert_true(found.region_count == 1 + 4 && found.region_variance == 4 * 3);
}

TEST_WITH(moments_are_those_of_the_weighted_values, setup, teardown) {
    static struct spex_record records[RECORDS];
    uint64_t seed = 5, weight = 0;
    struct spex_metrics metrics;
    for (size_t i = 0; i < RECORDS; i++) {
        records[i] = snapshot(3, 1 + (uint32_t)random_below(&seed, 1000),
                              1000000000 + random_below(&seed, 1000), random_next(&seed) >> 20);
        weight += records[i].weight;
    }
    add(records, 1);
    add(records + 1, RECORDS - 1);
    assert_int_equal(spex_tracer_probes(tracer), 1);
    spex_tracer_metrics(tracer, 0, &metrics);
    assert_int_equal(metrics.probe_id, 3);
    assert_int_equal(metrics.probe_type, SPEX_SNAPSHOT);
    assert_int_equal(metrics.records, RECORDS);
    assert_int_equal(metrics.series, 2);
    assert_true(metrics.count == (double)weight);
    expect_series(records, RECORDS, 0);
    expect_series(records, RECORDS, 1);
}

TEST_WITH(a_weight_is_so_many_values, setup, teardown) {
    struct spex_series got;
    add((struct spex_record[]){latency(1, 3, 10), latency(1, 1, 50)}, 2);
    spex_tracer_series(tracer, 0, 0, &got);
    expect_near(got.mean, 20, 1e-12);
    expect_near(got.deviation, sqrtl(300), 1e-12);
    assert_true(spex_tracer_quantile(tracer, 0, 0, 0.75) == 10);
    assert_true(spex_tracer_quantile(tracer, 0, 0, 0.76) == 50);
}

TEST_WITH(extremes, setup, teardown) {
    struct spex_series got;
    add((struct spex_record[]){latency(1, 1, 0), latency(1, 1, (uint64_t)1 << 63),
                               latency(1, 1, UINT64_MAX), latency(2, UINT32_MAX, UINT64_MAX)},
        4);
    spex_tracer_series(tracer, 0, 0, &got);
    assert_true(got.min == 0);
    assert_true(got.max == 0x1p64);
    expect_near(got.mean, 0x1p63L, 1e-12);
    expect_near(got.deviation, sqrtl(2.0L / 3) * 0x1p63L, 1e-12);
    assert_true(spex_tracer_quantile(tracer, 0, 0, 0) == 0);
    expect_near(spex_tracer_quantile(tracer, 0, 0, 0.5), 0x1p63L, 1.0 / 128);
    expect_near(spex_tracer_quantile(tracer, 0, 0, 1), 0x1p64L, 1.0 / 128);
    spex_tracer_series(tracer, 1, 0, &got);
    assert_true(got.mean == 0x1p64);
    assert_true(got.deviation == 0);
}

/* Of several threads, in batches that are longer than what is added at once; then one of another
 * weight. */
TEST_WITH(records_of_one_weight, setup, teardown) {
    static struct spex_record records[RECORDS];
    uint64_t seed = 6;
    struct spex_metrics metrics;
    for (size_t i = 0; i < RECORDS; i++) {
        records[i] = latency(3, 7, 1 + random_below(&seed, 1000));
        records[i].marks = SPEX_MARK_DRAWN;
        records[i].thread_id = 1 + i % 300 / 290;
        records[i].timestamp = i + 1;
    }
    records[RECORDS - 1].weight = 8;
    records[RECORDS / 2].fields[0] = 5000;
    records[RECORDS / 2].thread_id = 9;
    add(records, RECORDS);
    spex_tracer_metrics(tracer, 0, &metrics);
    assert_int_equal(metrics.records, RECORDS);
    assert_true(metrics.count == 7 * RECORDS + 1);
    assert_true(metrics.weight_squares == 49 * RECORDS + 15);
    assert_int_equal(metrics.marked[__builtin_ctz(SPEX_MARK_DRAWN)], RECORDS);
    expect_series(records, RECORDS, 0);
    struct spex_slowest slowest = spex_tracer_slowest(tracer, 0);
    assert_int_equal(slowest.ticks, 5000);
    assert_int_equal(slowest.thread_id, 9);
    assert_int_equal(slowest.timestamp, RECORDS / 2 + 1);
    assert_int_equal(spex_tracer_values(tracer, 0, 0)->histogram.total, 7 * RECORDS + 1);
}

/* Half a bucket beside the only value would be a value that never was. */
TEST_WITH(quantiles_stay_between_least_and_greatest, setup, teardown) {
    add((struct spex_record[]){latency(1, 1, 1000001), latency(2, 1, 1003519)}, 2);
    for (int q = 0; q <= 10; q++) {
        assert_true(spex_tracer_quantile(tracer, 0, 0, q / 10.0) == 1000001);
        assert_true(spex_tracer_quantile(tracer, 1, 0, q / 10.0) == 1003519);
    }
}

TEST_WITH(types_and_their_fields, setup, teardown) {
    struct spex_record cnt = {.probe_type = SPEX_CNT, .weight = 4, .field_count = 1, .fields = {4}};
    struct spex_record tpt = {
        .probe_type = SPEX_TPT, .weight = 5, .field_count = 2, .fields = {5, 70}};
    struct spex_record bare = {.probe_type = SPEX_SNAPSHOT, .weight = 6};
    struct spex_metrics metrics;
    struct spex_series got;
    add(&bare, 1);
    add(&tpt, 1);
    add(&cnt, 1);
    assert_int_equal(spex_tracer_probes(tracer), 3);
    spex_tracer_metrics(tracer, 0, &metrics);
    assert_int_equal(metrics.probe_type, SPEX_CNT);
    assert_int_equal(metrics.series, 0);
    assert_true(metrics.count == 4);
    spex_tracer_metrics(tracer, 1, &metrics);
    assert_int_equal(metrics.probe_type, SPEX_TPT);
    assert_int_equal(metrics.series, 1);
    assert_true(metrics.count == 5);
    spex_tracer_series(tracer, 1, 0, &got);
    assert_true(got.mean == 70);
    spex_tracer_metrics(tracer, 2, &metrics);
    assert_int_equal(metrics.probe_type, SPEX_SNAPSHOT);
    assert_int_equal(metrics.series, 0);
    assert_true(metrics.count == 6);
}

TEST_WITH(probes_are_sorted_by_id_and_type, setup, teardown) {
    uint64_t seed = 9;
    uint64_t last = 0, records = 0;
    for (int i = 0; i < 20000; i++) {
        struct spex_record record = latency((uint16_t)(random_below(&seed, 200) * 300), 1, 1);
        record.probe_type = 1u << random_below(&seed, SPEX_PROBE_TYPES);
        add(&record, 1);
    }
    assert_int_equal(spex_tracer_probes(tracer), 200 * SPEX_PROBE_TYPES);
    for (size_t p = 0; p < spex_tracer_probes(tracer); p++) {
        struct spex_metrics metrics;
        spex_tracer_metrics(tracer, p, &metrics);
        uint64_t key = (uint64_t)metrics.probe_id << 32 | metrics.probe_type;
        assert_true(key > last);
        last = key;
        records += metrics.records;
    }
    assert_int_equal(records, 20000);
}

TEST_WITH(nothing_added_nothing_there, setup, teardown) {
    add(NULL, 0);
    assert_int_equal(spex_tracer_probes(tracer), 0);
    spex_tracer_destroy(NULL);
}

TEST_WITH(a_probe_is_found_by_id_and_type, setup, teardown) {
    assert_int_equal(spex_tracer_find(tracer, 1, SPEX_LAT), 0);
    for (uint16_t id = 1; id < 100; id += 2)
        add((struct spex_record[]){latency(id, 1, 5), snapshot(id, 1, 0, 0)}, 2);
    for (uint16_t id = 0; id <= 100; id++) {
        size_t at = spex_tracer_find(tracer, id, SPEX_SNAPSHOT);
        struct spex_metrics metrics;
        assert_int_equal(at < spex_tracer_probes(tracer), id % 2);
        if (id % 2 == 0)
            continue;
        spex_tracer_metrics(tracer, at, &metrics);
        assert_int_equal(metrics.probe_id, id);
        assert_int_equal(metrics.probe_type, SPEX_SNAPSHOT);
    }
    assert_int_equal(spex_tracer_find(tracer, 1, SPEX_CNT), spex_tracer_probes(tracer));
}

/* A loss right before a batch begins a stretch; one within it continues the last. */
TEST_WITH(stretches_lie_between_losses, setup, teardown) {
    static const struct {
        uint32_t lost;
        bool gap;
        uint32_t stretch;
    } batches[] = {{6, false, 1}, {3, false, 1}, {2, true, 2},  {0, false, 0},
                   {9, true, 3},  {5, true, 4},  {4, false, 4}, {1, true, 5}};
    enum { BATCH = 3 };
    static struct spex_values expected;
    uint64_t seed = 7;
    spex_values_clear(&expected);
    for (size_t b = 0; b < COUNT_OF(batches); b++) {
        double scale = (batches[b].lost + (double)BATCH) / BATCH;
        struct spex_record records[BATCH];
        for (size_t r = 0; r < BATCH; r++)
            records[r] = latency(1, 1, random_below(&seed, 1000));
        records[0].lost = batches[b].lost;
        records[0].gap = batches[b].gap;
        records[1].gap = !batches[b].gap; /* which says nothing */
        if (b == 0)
            expected.spread.origin = (double)records[0].fields[0];
        spex_variance_stretch(&expected.spread, batches[b].stretch, scale);
        for (size_t r = 0; r < BATCH && batches[b].stretch; r++)
            spex_variance_single(&expected.spread, records[r].fields[0], 1, scale);
        add(records, BATCH);
        const struct spex_variance *spread = &spex_tracer_losses(tracer, 0, 0)->spread;
        assert_int_equal(spread->number, expected.spread.number);
        assert_memory_equal(&spread->sums, &expected.spread.sums, sizeof(spread->sums));
        assert_memory_equal(spread->rows, expected.spread.rows, sizeof(spread->rows));
    }
}

/* Kish's effective number of records is count² over these. */
TEST_WITH(squares_of_weights, setup, teardown) {
    struct spex_metrics metrics;
    add((struct spex_record[]){latency(1, 3, 10), latency(1, (1 << 24) - 1, 50)}, 2);
    spex_tracer_metrics(tracer, 0, &metrics);
    assert_true(metrics.weight_squares == 9 + 16777215.0 * 16777215.0);
    assert_true(metrics.count == 3 + 16777215.0);
}

/* Their fields say nothing: they are executions, and no values. */
TEST_WITH(records_without_values_are_in_no_mean, setup, teardown) {
    struct spex_record records[] = {latency(1, 1, 10), latency(1, 1, 0), latency(1, 1, 30),
                                    latency(2, 1, 0)};
    struct spex_metrics metrics;
    struct spex_series got;
    records[1].marks = SPEX_MARK_UNAVAILABLE | SPEX_MARK_OPENING;
    records[2].marks = SPEX_MARK_SCALED;
    records[3].marks = SPEX_MARK_UNAVAILABLE;
    add(records, 4);
    spex_tracer_metrics(tracer, 0, &metrics);
    spex_tracer_series(tracer, 0, 0, &got);
    assert_int_equal(metrics.records, 3);
    assert_true(metrics.count == 3);
    assert_int_equal(metrics.series, 1);
    assert_true(got.mean == 20);
    assert_true(got.min == 10);
    spex_tracer_metrics(tracer, 1, &metrics);
    assert_int_equal(metrics.records, 1);
    assert_int_equal(metrics.series, 0);
}

/* Looks of the kernel sampler have no weight: they are values, and no records of executions. */
TEST_WITH(records_without_weight_are_no_records, setup, teardown) {
    const struct spex_record records[] = {latency(1, 0, 10), latency(1, 1, 20), latency(1, 0, 30),
                                          latency(1, 2, 40)};
    struct spex_metrics metrics;
    add(records, 4);
    spex_tracer_metrics(tracer, 0, &metrics);
    assert_int_equal(metrics.records, 2);
    assert_true(metrics.count == 3);
    assert_true(metrics.weight == 3);
}

/* A time that contains the making ready of a counter is no time of the program; a number of events
 * is as good as others. */
TEST_WITH(times_with_an_opening_are_left_out, setup, teardown) {
    struct spex_record records[] = {latency(1, 1, 10), latency(1, 1, 1000), latency(1, 1, 30),
                                    snapshot(2, 1, 10, 20), snapshot(2, 1, 30, 20)};
    struct spex_metrics metrics;
    struct spex_series got;
    records[1].marks = records[4].marks = SPEX_MARK_OPENING;
    add(records, 5);
    spex_tracer_metrics(tracer, 0, &metrics);
    spex_tracer_series(tracer, 0, 0, &got);
    assert_true(metrics.records == 3 && metrics.count == 3 && metrics.marked[0] == 1);
    assert_true(got.mean == 20 && got.max == 30);
    spex_tracer_series(tracer, 1, 0, &got);
    assert_true(got.mean == 20 && got.max == 30);
}

static void expect_values(const struct spex_values *got, const struct spex_values *expected) {
    assert_true(got->weight == expected->weight);
    expect_near(got->mean, expected->mean, 1e-9);
    expect_near(spex_values_deviation(got), spex_values_deviation(expected), 1e-6);
    assert_memory_equal(&got->histogram, &expected->histogram, sizeof(got->histogram));
}

/* What came since is as if it had come alone; the extremes to the histogram's resolution. */
TEST_WITH(values_since_an_earlier_time, setup, teardown) {
    static struct spex_values before, since;
    uint64_t seed = 3;
    for (int i = 0; i < 1000; i++) {
        struct spex_record record = latency(1, 2, 1000000 + random_below(&seed, 1000));
        add(&record, 1);
    }
    before = *spex_tracer_values(tracer, 0, 0);
    for (int i = 0; i < 100; i++) {
        struct spex_record record = latency(1, 1, 1000 + random_below(&seed, 3000));
        struct spex_record alone = record;
        alone.probe_id = 2;
        add(&record, 1);
        add(&alone, 1);
    }
    const struct spex_values *expected = spex_tracer_values(tracer, 1, 0);
    since = *spex_tracer_values(tracer, 0, 0);
    spex_values_subtract(&since, &before);
    expect_values(&since, expected);
    expect_near((double)since.min, (double)expected->min, 1.0 / 64);
    expect_near((double)since.max, (double)expected->max, 1.0 / 64);
}

TEST_WITH(nothing_since_an_earlier_time, setup, teardown) {
    static struct spex_values values;
    struct spex_record record = latency(1, 2, 70);
    add(&record, 1);
    values = *spex_tracer_values(tracer, 0, 0);
    spex_values_subtract(&values, spex_tracer_values(tracer, 0, 0));
    assert_true(values.weight == 0);
    assert_true(spex_values_deviation(&values) == 0);
    for (int q = 0; q <= 10; q++)
        assert_true(spex_values_quantile(&values, q / 10.0) == 0);
    struct spex_values *none = &values;
    spex_values_clear(none);
    static struct spex_values some;
    some = *spex_tracer_values(tracer, 0, 0);
    spex_values_subtract(&some, none);
    expect_values(&some, spex_tracer_values(tracer, 0, 0));
}

static void expect_slowest(uint64_t ticks, uint32_t thread) {
    struct spex_slowest slowest = spex_tracer_slowest(tracer, 0);
    assert_true(slowest.ticks == ticks);
    assert_int_equal(slowest.thread_id, thread);
}

/* Of the present window and the one before it, whatever has come since. */
TEST_WITH(the_slowest_of_two_windows, setup, teardown) {
    struct spex_record records[] = {latency(1, 1, 20), latency(1, 1, 90), latency(1, 1, 30)};
    records[1].thread_id = 7;
    spex_tracer_window(tracer, 5);
    add(records, COUNT_OF(records));
    expect_slowest(90, 7);
    spex_tracer_window(tracer, 6);
    expect_slowest(90, 7);
    add(records, 1);
    expect_slowest(90, 7);
    spex_tracer_window(tracer, 7);
    expect_slowest(20, 1);
    add(&records[2], 1);
    expect_slowest(30, 1);
    spex_tracer_window(tracer, 9);
    expect_slowest(0, 0);
    add(records, 1);
    expect_slowest(20, 1);
}

/* Its time contains the making ready of a counter, or there is none, or it is no time. */
TEST_WITH(what_is_no_time_is_not_the_slowest, setup, teardown) {
    struct spex_record opening = latency(1, 1, 90), unended = latency(1, 0, 90);
    const struct spex_record some = snapshot(0, 1, 90, 90);
    opening.marks = SPEX_MARK_OPENING;
    add(&opening, 1);
    add(&unended, 1);
    expect_slowest(0, 0);
    add(&some, 1);
    expect_slowest(0, 0);
}

/* What is told of a probe in a batch. */
static void expect_told(uint16_t id, uint32_t type, uint64_t records, double count, unsigned series,
                        double mean) {
    size_t at = spex_tracer_find(tracer, id, type);
    struct spex_metrics metrics;
    struct spex_series got;
    assert_true(at < spex_tracer_probes(tracer));
    spex_tracer_metrics(tracer, at, &metrics);
    assert_int_equal(metrics.records, records);
    assert_true(metrics.count == count);
    assert_int_equal(metrics.series, series);
    if (series == 0)
        return;
    spex_tracer_series(tracer, at, 0, &got);
    assert_true(got.mean == mean);
}

/* Of one number, but of two types; with two values and with one; and two that say nothing, one of
 * which stands for no execution. */
TEST_WITH(a_batch_of_unlike_records, setup, teardown) {
    struct spex_record records[] = {latency(1, 1, 10),     latency(1, 1, 70), snapshot(2, 1, 20, 3),
                                    snapshot(2, 1, 40, 0), latency(3, 1, 10), latency(3, 0, 30)};
    records[1].probe_type = SPEX_FLT;
    records[3].field_count = 1;
    records[4].marks = records[5].marks = SPEX_MARK_OPENING;
    add(records, COUNT_OF(records));
    expect_told(1, SPEX_LAT, 1, 1, 1, 10);
    expect_told(1, SPEX_FLT, 1, 1, 1, 70);
    expect_told(2, SPEX_SNAPSHOT, 2, 2, 2, 30);
    expect_told(3, SPEX_LAT, 1, 1, 0, 0);
    struct spex_series second;
    spex_tracer_series(tracer, spex_tracer_find(tracer, 2, SPEX_SNAPSHOT), 1, &second);
    assert_true(second.mean == 3);
}

/* Batches in which the records of many probes alternate, as if each came alone. Probes and types
 * appear in the middle of them, some records have no values, and some follow others of the same
 * probe. */
TEST_WITH(many_probes_in_a_batch, setup, teardown) {
    enum { MOST = 60, BATCHES = 2000, TYPES = 3 };
    static const uint32_t type[TYPES] = {SPEX_LAT, SPEX_CNT, SPEX_TPT};
    struct spex_record records[MOST];
    struct spex_tracer *alone;
    uint64_t seed = 21;
    assert_int_equal(spex_tracer_create(&alone), 0);
    for (unsigned b = 0; b < BATCHES; b++) {
        size_t count = 1 + random_below(&seed, MOST);
        for (size_t r = 0; r < count; r++) {
            uint16_t id = (uint16_t)(1 + random_below(&seed, 5 + b / 4));
            records[r] = latency(id, (uint32_t)(1 + random_below(&seed, 4)),
                                 random_below(&seed, UINT64_C(1) << random_below(&seed, 30)));
            records[r].probe_type = type[id % TYPES];
            records[r].field_count = id % TYPES == 2 ? 2 : 1;
            records[r].fields[1] = records[r].fields[0] + 1;
            if (r > 0 && random_below(&seed, 4) == 0)
                records[r] = records[r - 1];
        }
        add(records, count);
        for (size_t r = 0; r < count; r++)
            assert_int_equal(spex_tracer_add(alone, &records[r], 1), 0);
    }
    assert_int_equal(spex_tracer_probes(tracer), spex_tracer_probes(alone));
    for (size_t p = 0; p < spex_tracer_probes(alone); p++) {
        struct spex_metrics got, expected;
        spex_tracer_metrics(tracer, p, &got);
        spex_tracer_metrics(alone, p, &expected);
        assert_true(got.probe_id == expected.probe_id && got.probe_type == expected.probe_type);
        assert_true(got.records == expected.records && got.count == expected.count);
        assert_int_equal(got.series, expected.series);
        for (unsigned series = 0; series < got.series; series++) {
            const struct spex_values *values = spex_tracer_values(tracer, p, series),
                                     *others = spex_tracer_values(alone, p, series);
            assert_memory_equal(&values->histogram, &others->histogram, sizeof(values->histogram));
            assert_true(values->min == others->min && values->max == others->max);
            expect_near(values->mean, (long double)others->mean, 1e-12);
        }
    }
    spex_tracer_destroy(alone);
}
