/* SPDX-License-Identifier: MIT */
/* Figures of made-up records whose true values are known. */
#include <math.h>

#include "../check.h"
#include "measure/measure.h"
#include "measure_bench.h"

/* Records each 10 ticks: the first opens the interval, and 10 follow in 100 ticks. */
TEST(throughput) {
    static const uint32_t types[] = {SPEX_CNT, SPEX_LAT, SPEX_TPT};
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        struct bench bench;
        begin(&bench, "throughput", types[t], 0);
        for (uint64_t r = 0; r <= 10; r++)
            assert_int_equal(add_one(&bench, record(5000 + r * 10, types[t], 1, 3)), r == 0);
        close_to(value(&bench), 100, 1e-12);
        struct spex_run run = spex_measure_run(bench.measure);
        assert_int_equal(run.records, 10);
        close_to(run.seconds, 0.1, 1e-12);
        end(&bench);
    }
}

TEST(weights) {
    struct bench bench;
    begin(&bench, "throughput", SPEX_TPT, 0);
    add_one(&bench, record(0, SPEX_TPT, 1000, 3)); /* t0: not counted */
    add_one(&bench, record(500, SPEX_TPT, 10, 3));
    add_one(&bench, record(1000, SPEX_TPT, 30, 3));
    close_to(value(&bench), 40, 1e-12);
    assert_int_equal(spex_measure_run(bench.measure).records, 2);
    end(&bench);
}

TEST(weighted_times) {
    struct bench bench;
    begin(&bench, "mean", SPEX_LAT, 0);
    add_one(&bench, record(0, SPEX_LAT, 1000, 9999));
    add_one(&bench, record(1, SPEX_LAT, 1, 100));
    add_one(&bench, record(2, SPEX_LAT, 3, 500));
    close_to(value(&bench), 0.4, 1e-12);
    end(&bench);
}

/* 1 to 1000 ticks, once each; 100000 as t0, which must not show. */
TEST(statistics) {
    static const struct {
        const char *metric;
        double expected; /* ticks */
        double tolerance;
    } cases[] = {
        {"mean", 500.5, 1e-12}, {"max", 1000, 1e-12}, {"p50", 500, 0.01},
        {"p90", 900, 0.01},     {"p99", 990, 0.01},
    };
    static const uint32_t types[] = {SPEX_LAT, SPEX_TPT, SPEX_SNAPSHOT};
    for (size_t c = 0; c < COUNT_OF(cases) * COUNT_OF(types); c++) {
        uint32_t type = types[c % COUNT_OF(types)];
        struct bench bench;
        begin(&bench, cases[c / COUNT_OF(types)].metric, type, 0);
        add_one(&bench, record(0, type, 1, 100000));
        for (uint64_t r = 1; r <= 1000; r++)
            add_one(&bench, record(r, type, 1, r * 7919 % 1000 + 1));
        double scale = type == SPEX_SNAPSHOT ? 1 : TICKS_PER_SECOND;
        close_to(value(&bench) * scale, cases[c / COUNT_OF(types)].expected,
                 cases[c / COUNT_OF(types)].tolerance);
        end(&bench);
    }
}

TEST(others) {
    struct bench bench;
    begin(&bench, "throughput", SPEX_LAT, 0.1);
    struct spex_record other = record(10, SPEX_LAT, 5, 700), kind = record(20, SPEX_CNT, 6, 0);
    other.probe_id = OTHER;
    assert_int_equal(add_one(&bench, other), 1);
    assert_int_equal(add_one(&bench, kind), 1);
    assert_false(spex_measure_started(bench.measure)); /* neither starts the warm-up, */
    add_one(&bench, record(1000, SPEX_LAT, 1, 1));
    other.timestamp = 1200;
    assert_int_equal(add_one(&bench, other), 1); /* nor opens the interval, */
    add_one(&bench, record(1300, SPEX_LAT, 1, 1));
    other.timestamp = kind.timestamp = 1350;
    assert_int_equal(add_one(&bench, other), 0); /* but after t0 they are in the metrics. */
    assert_int_equal(add_one(&bench, kind), 0);
    add_one(&bench, record(1400, SPEX_LAT, 1, 1));
    other.timestamp = 1900;
    add_one(&bench, other);
    close_to(value(&bench), 10, 1e-12);
    struct spex_run run = spex_measure_run(bench.measure);
    assert_int_equal(run.records, 1);
    assert_int_equal(run.threads, 1);
    struct spex_tracer *tracer = spex_measure_tracer(bench.measure);
    static const uint64_t expected[][3] = {
        {PROBE, SPEX_CNT, 1}, {PROBE, SPEX_LAT, 1}, {OTHER, SPEX_LAT, 2}};
    assert_int_equal(spex_tracer_probes(tracer), COUNT_OF(expected));
    for (size_t p = 0; p < COUNT_OF(expected); p++) {
        struct spex_metrics metrics;
        spex_tracer_metrics(tracer, p, &metrics);
        assert_int_equal(metrics.probe_id, expected[p][0]);
        assert_int_equal(metrics.probe_type, expected[p][1]);
        assert_int_equal(metrics.records, expected[p][2]);
    }
    end(&bench);
}

/* The threads of a run, in an order that puts each in another place of the table. */
TEST(threads) {
    enum { THREADS = 100 };
    struct bench bench;
    begin(&bench, "throughput", SPEX_CNT, 0);
    assert_int_equal(spex_measure_run(bench.measure).threads_done, 0);
    uint64_t now = 0, records = 0;
    add_one(&bench, from(record(now, SPEX_CNT, 1, 0), 4000, PROBE)); /* t0's thread: no record */
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t t = 0; t < THREADS; t++) {
            uint32_t id = t * 37 % THREADS;
            uint32_t times = id == 50 ? 1 : 2;
            for (uint32_t i = 0; i < times; i++, records++)
                add_one(&bench, from(record(++now, SPEX_CNT, 1, 0), id + 1, PROBE));
            add_one(&bench, from(record(++now, SPEX_CNT, 1, 0), 5000 + t, OTHER));
        }
    struct spex_run run = spex_measure_run(bench.measure);
    assert_int_equal(run.threads, THREADS);
    assert_int_equal(run.threads_done, THREADS - 1); /* the slow one has 3 */
    assert_int_equal(run.records, records);
    end(&bench);
}

/* A record that is handed over after younger ones counts when it lies after t0, without turning
 * the time back; one from before t0 does not. */
TEST(late) {
    struct bench bench;
    begin(&bench, "throughput", SPEX_CNT, 0);
    add_one(&bench, record(1000, SPEX_CNT, 1, 0));
    assert_int_equal(add_one(&bench, record(1100, SPEX_CNT, 1, 0)), 0);
    assert_int_equal(add_one(&bench, record(1050, SPEX_CNT, 1, 0)), 0);
    assert_int_equal(add_one(&bench, record(1000, SPEX_CNT, 1, 0)), 1);
    assert_int_equal(add_one(&bench, record(990, SPEX_CNT, 1, 0)), 1);
    assert_int_equal(spex_measure_run(bench.measure).records, 2);
    close_to(spex_measure_run(bench.measure).seconds, 0.1, 1e-12);
    close_to(value(&bench), 20, 1e-12);
    end(&bench);
}

/* Silent: over a quarter of the time since t0, and over three times the longest silence before. */
TEST(silence) {
    struct bench bench;
    begin(&bench, "throughput", SPEX_CNT, 0);
    assert_false(spex_measure_silent(bench.measure, 1000000));
    add_one(&bench, record(1000, SPEX_CNT, 1, 0));
    for (uint64_t r = 1; r <= 10; r++)
        add_one(&bench, record(1000 + 90 * r, SPEX_CNT, 1, 0));
    static const struct {
        uint64_t ticks;
        bool silent;
    } short_gaps[] = {{0, false},    {1900, false}, {1901, false}, {2170, false},
                      {2200, false}, {2201, true},  {2202, true},  {9000, true}};
    for (size_t c = 0; c < COUNT_OF(short_gaps); c++)
        if (spex_measure_silent(bench.measure, short_gaps[c].ticks) != short_gaps[c].silent)
            fail_msg("at %lu", (unsigned long)short_gaps[c].ticks);
    close_to(spex_measure_silence(bench.measure, 2400), 0.5, 1e-12);
    add_one(&bench, record(2300, SPEX_CNT, 1, 0)); /* a gap of 400 */
    assert_false(spex_measure_silent(bench.measure, 3500));
    assert_true(spex_measure_silent(bench.measure, 3501));
    struct spex_record other = record(3499, SPEX_CNT, 1, 0);
    other.probe_id = OTHER;
    add_one(&bench, other);
    assert_true(spex_measure_silent(bench.measure, 3501));
    end(&bench);
}

TEST(no_value) {
    struct bench bench;
    begin(&bench, "mean", SPEX_SNAPSHOT, 0);
    assert_true(isnan(value_now(&bench)));
    add_one(&bench, record(0, SPEX_SNAPSHOT, 1, 5));
    assert_true(isnan(value_now(&bench))); /* only t0 */
    struct spex_record other = record(1, SPEX_SNAPSHOT, 1, 5);
    other.probe_id = OTHER;
    add_one(&bench, other);
    assert_true(isnan(value_now(&bench))); /* only another probe's */
    struct spex_record empty = record(2, SPEX_SNAPSHOT, 1, 5);
    empty.field_count = 0;
    add_one(&bench, empty);
    assert_true(isnan(value_now(&bench))); /* only one without values */
    add_one(&bench, record(3, SPEX_SNAPSHOT, 1, 5));
    close_to(value(&bench), 5, 1e-12);
    end(&bench);
}

/* A clock that does not tell the time makes every rate and time infinite or no number. */
TEST(not_finite) {
    static const struct {
        const char *metric;
        double rate;
        uint64_t ticks;
    } cases[] = {{"mean", 0, 5}, {"mean", 0, 0}, {"throughput", NAN, 5}, {"p50", 0, 5}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct bench bench;
        begin(&bench, cases[c].metric, SPEX_LAT, 0);
        spex_measure_destroy(bench.measure);
        assert_int_equal(spex_measure_create(&bench.space, cases[c].rate, &bench.measure), 0);
        spex_measure_probe(bench.measure, 0, PROBE, SPEX_LAT);
        add_one(&bench, record(0, SPEX_LAT, 1, cases[c].ticks));
        add_one(&bench, record(10, SPEX_LAT, 1, cases[c].ticks));
        assert_true(isnan(value_now(&bench)));
        end(&bench);
    }
}

/* No probe is the objective's until the program has told its sites. */
TEST(unknown_objective) {
    struct bench bench;
    begin(&bench, "mean", SPEX_LAT, 0);
    spex_measure_probe(bench.measure, 0, 0, 0);
    assert_int_equal(add_one(&bench, record(0, SPEX_LAT, 1, 5)), 1);
    assert_false(spex_measure_started(bench.measure));
    assert_int_equal(spex_tracer_probes(spex_measure_tracer(bench.measure)), 0);
    assert_int_equal(add(&bench, NULL, 0), 0);
    end(&bench);
    spex_measure_destroy(NULL);
}

/* Criteria of several probes and fields; the first one's probe opens the interval for all. */
TEST(criteria) {
    static const struct spex_criterion all[] = {
        {.metric = "throughput"}, {.metric = "max", .field = 1}, {.metric = "min"},
        {.metric = "throughput"}, {.metric = "p99.9"},           {.metric = "mean", .field = 2},
    };
    struct bench bench;
    struct spex_measured found[COUNT_OF(all)];
    begin(&bench, "mean", SPEX_LAT, 0);
    spex_measure_destroy(bench.measure);
    bench.space.criteria = all;
    bench.space.criterion_count = COUNT_OF(all);
    assert_int_equal(spex_measure_create(&bench.space, TICKS_PER_SECOND, &bench.measure), 0);
    for (size_t c = 0; c < COUNT_OF(all); c++)
        spex_measure_probe(bench.measure, c, c ? OTHER : PROBE, c ? SPEX_SNAPSHOT : SPEX_CNT);
    uint64_t random = 9;
    for (uint64_t r = 0; r <= 1000; r++) {
        add_one(&bench, record(1000 + 10 * r, SPEX_CNT, 1, 0));
        struct spex_record other = from(record(1004 + 10 * r, SPEX_SNAPSHOT, 1, 5), 2, OTHER);
        other.fields[0] = 500 + random_below(&random, 100);
        other.fields[other.field_count++] = r;
        add_one(&bench, other);
    }
    spex_measure_values(bench.measure, found);
    const struct spex_record *records;
    size_t used;
    assert_int_equal(spex_measure_end(bench.measure, &records, &used), 0);
    spex_measure_values(bench.measure, found);
    close_to(found[0].value, 100, 1e-12);
    assert_true(found[0].error < 1e-9);
    close_to(found[1].value, 1000, 1e-12);
    assert_true(isnan(found[1].error));
    close_to(found[2].value, 500, 1e-12);
    close_to(found[3].value, 1001 / 10.004, 1e-12);
    close_to(found[4].value, 599, 0.01);
    assert_true(isnan(found[5].value) && isnan(found[5].error));
    end(&bench);
}

/* An error is there, and that of throughputs and times is in their units. */
TEST(errors) {
    static const char *const metrics[] = {"throughput", "mean", "p50"};
    for (size_t m = 0; m < COUNT_OF(metrics); m++) {
        struct bench bench;
        struct spex_measured found;
        const struct spex_record *records;
        size_t used;
        uint64_t random = 4, now = 1000;
        begin(&bench, metrics[m], SPEX_LAT, 0);
        for (unsigned r = 0; r <= 1000; r++) {
            uint64_t took = 1 + random_below(&random, 999);
            add_one(&bench, record(now += took, SPEX_LAT, 1, took));
        }
        spex_measure_values(bench.measure, &found);
        assert_true(isnan(found.error)); /* it has not been looked at before */
        assert_int_equal(spex_measure_end(bench.measure, &records, &used), 0);
        spex_measure_values(bench.measure, &found);
        /* The deviation is 0.577 of the mean, the median's error 1.73 times the mean's. */
        double share = found.error / found.value * sqrt(1000) / 0.577 / (m == 2 ? 1.73 : 1);
        assert_true(share > 0.8 && share < 1.4);
        end(&bench);
    }
}

/* Values are looked at anew when there are some more records, and at the end. */
TEST(now_and_then) {
    struct bench bench;
    const struct spex_record *records;
    size_t used;
    begin(&bench, "max", SPEX_LAT, 0);
    for (uint64_t r = 0; r <= 1000; r++)
        add_one(&bench, record(1000 + r, SPEX_LAT, 1, 1000 + r));
    close_to(value(&bench), 2, 1e-12);
    add_one(&bench, record(2001, SPEX_LAT, 1, 5000));
    close_to(value(&bench), 2, 1e-12);
    for (uint64_t r = 0; r < 50; r++)
        add_one(&bench, record(2002 + r, SPEX_LAT, 1, 1));
    close_to(value(&bench), 5, 1e-12);
    add_one(&bench, record(3000, SPEX_LAT, 1, 6000));
    assert_int_equal(spex_measure_end(bench.measure, &records, &used), 0);
    assert_int_equal(used, 0);
    close_to(value(&bench), 6, 1e-12);
    end(&bench);
}
