/* SPDX-License-Identifier: MIT */
/* What a trial keeps of the records of its probes: an entry for each value, times in seconds, with
 * the names that the program told. */
#include <math.h>

#include "../scarce_memory.h"
#include "explore/trial/trial_metrics.h"
#include "spaces.h"

/* A tick is a microsecond. */
#define TICKS_PER_SECOND 1e6

static struct spex_tracer *tracer;

static void add(uint16_t probe, uint32_t type, uint32_t weight, const uint64_t *values,
                size_t count) {
    struct spex_record made = {.timestamp = 100,
                               .probe_type = type,
                               .thread_id = 1,
                               .weight = weight,
                               .probe_id = probe,
                               .field_count = (uint32_t)count};
    memcpy(made.fields, values, count * sizeof(*values));
    assert_int_equal(spex_tracer_add(tracer, &made, 1), 0);
}

/* 100 latencies of 1 to 100 ms; two values of three snapshots; 2 + 3 counts. */
static void add_all(void) {
    for (uint64_t i = 1; i <= 100; i++)
        add(7, SPEX_LAT, 1, (const uint64_t[]){1000 * i}, 1);
    for (uint64_t i = 1; i <= 3; i++)
        add(5, SPEX_SNAPSHOT, 1, (const uint64_t[]){10 * i, 1000}, 2);
    for (uint32_t i = 2; i <= 3; i++)
        add(9, SPEX_CNT, i, (const uint64_t[]){i}, 1);
}

static const struct spex_stream_site sites[] = {
    {.probe_id = 7, .probe_type = SPEX_SNAPSHOT, .name = "another type", .provider = "no"},
    {.probe_id = 6, .probe_type = SPEX_LAT, .name = "another probe", .provider = "no"},
    {.probe_id = 7, .probe_type = SPEX_LAT, .name = "lat", .provider = "test"},
    {.probe_id = 7, .probe_type = SPEX_LAT, .name = "the same again", .provider = "no"},
    {.probe_id = 5, .probe_type = SPEX_SNAPSHOT, .declared = 1 + 33},
};

static void expect(const struct spex_trial_metric *metric, uint16_t probe, int32_t id,
                   const char *name, unsigned field, uint64_t records, double count) {
    assert_int_equal(metric->probe_id, probe);
    assert_int_equal(metric->id, id);
    if (name)
        assert_string_equal(metric->name, name);
    assert_true(!name == !metric->name && !name == !metric->provider);
    if (name)
        assert_string_equal(metric->provider, "test");
    assert_int_equal(metric->field, field);
    assert_int_equal(metric->records, records);
    assert_true(metric->count == count);
}

/* Quantiles are those of a histogram. */
static void near(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance * expected))
        fail_msg("%g instead of %g", found, expected);
}

static void expect_snapshots(const struct spex_trial_metric *metrics) {
    for (unsigned f = 0; f < 2; f++) {
        expect(&metrics[f], 5, 33, NULL, f, 3, 3);
        assert_int_equal(metrics[f].probe_type, SPEX_SNAPSHOT);
        near(metrics[f].rate, 3 / 4.0, 1e-12);
        near(metrics[f].mean, f ? 1000 : 20, 1e-12);
        near(metrics[f].min, f ? 1000 : 10, 1e-12);
        near(metrics[f].max, f ? 1000 : 30, 1e-12);
    }
}

static void expect_latencies(const struct spex_trial_metric *metric) {
    expect(metric, 7, 7, "lat", 0, 100, 100);
    assert_int_equal(metric->probe_type, SPEX_LAT);
    near(metric->rate, 25, 1e-12);
    near(metric->mean, 0.0505, 1e-9);
    near(metric->deviation, sqrt((100 * 100 - 1) / 12.0) * 1e-3, 0.01);
    near(metric->min, 0.001, 1e-9);
    near(metric->p50, 0.050, 0.04);
    near(metric->p90, 0.090, 0.04);
    near(metric->p99, 0.099, 0.04);
    near(metric->max, 0.1, 1e-9);
}

/* A count has no values. */
static void expect_counts(const struct spex_trial_metric *metric) {
    const double none[] = {metric->mean, metric->deviation, metric->min, metric->p50,
                           metric->p90,  metric->p99,       metric->max};
    expect(metric, 9, 9, NULL, 0, 2, 5);
    assert_int_equal(metric->probe_type, SPEX_CNT);
    near(metric->rate, 5 / 4.0, 1e-12);
    for (size_t i = 0; i < COUNT_OF(none); i++)
        assert_true(isnan(none[i]));
}

#define SPACE                                                                                      \
    "<space name='s'><parameter name='a' type='boolean'/>"                                         \
    "<objective probe='q:lat' metric='mean' goal='minimise'/></space>"

static void expect_all(const struct spex_trial *trial) {
    assert_int_equal(trial->metric_count, 4);
    expect_snapshots(trial->metrics);
    expect_latencies(&trial->metrics[2]);
    expect_counts(&trial->metrics[3]);
}

/* Of no time there is no rate. */
TEST(entries) {
    struct spex_space_file *file = space_of(SPACE);
    for (int timed = 0; timed < 2; timed++) {
        struct spex_trial trial;
        assert_int_equal(spex_trial_init(&trial, &file->space, (size_t[]){0}), 0);
        assert_int_equal(spex_tracer_create(&tracer), 0);
        add_all();
        assert_int_equal(spex_trial_metrics(&trial, tracer, TICKS_PER_SECOND, timed ? 4 : 0, sites,
                                            COUNT_OF(sites)),
                         0);
        assert_int_equal(trial.metric_count, 4);
        if (timed)
            expect_all(&trial);
        for (size_t m = 0; m < trial.metric_count; m++)
            assert_true(isnan(trial.metrics[m].rate) == !timed);
        spex_tracer_destroy(tracer);
        spex_trial_free(&trial);
    }
    spex_space_free(file);
}

static int entries_are_made(void *user) {
    const struct spex_space_file *file = user;
    struct spex_trial trial;
    int err = spex_trial_init(&trial, &file->space, (size_t[]){0});
    if (err)
        return err;
    err = spex_trial_metrics(&trial, tracer, TICKS_PER_SECOND, 4, sites, COUNT_OF(sites));
    if (!err)
        expect_all(&trial);
    spex_trial_free(&trial);
    return err;
}

TEST(entries_without_memory) {
    struct spex_space_file *file = space_of(SPACE);
    assert_int_equal(spex_tracer_create(&tracer), 0);
    add_all();
    assert_int_equal(entries_are_made(file), 0);
    assert_true(without_each_allocation(entries_are_made, file) >= 6);
    spex_tracer_destroy(tracer);
    spex_space_free(file);
}
