/* SPDX-License-Identifier: MIT */
/* Criteria of records, and what an interval is worth when a run is stopped as soon as it is narrow
 * enough. What is reached is printed. The random numbers are the same in every run. */
#include <math.h>

#include "base/clock.h"
#include "measure/figure.h"
#include "sources.h"

enum { PROBE = 7, RUNS = 200, RECORDS_MAX = 300000 };

#define MICRO 1e6

static struct spex_figure opened(const char *metric, unsigned field, uint32_t type) {
    const struct spex_criterion criterion = {.metric = metric, .field = field};
    struct spex_figure figure;
    assert_int_equal(spex_figure_open(&figure, &criterion, 1, true), 0);
    figure.probe_id = PROBE;
    figure.probe_type = type;
    spex_figure_begin(&figure, 0);
    return figure;
}

static struct spex_record record(uint64_t timestamp, uint32_t type, uint64_t value) {
    struct spex_record made = {.timestamp = timestamp,
                               .probe_type = type,
                               .weight = 1,
                               .probe_id = PROBE,
                               .field_count = 3,
                               .fields = {value, value + 1000, value + 2000}};
    return made;
}

static double value_of(struct spex_figure *figure) {
    return spex_figure_measured(figure, 1000, true).value;
}

/* Where the first field is a weight, a criterion's fields begin behind it; times are in seconds,
 * all else is as it is. */
TEST(fields) {
    static const struct {
        uint32_t type;
        unsigned field;
        double expected;
    } cases[] = {
        {SPEX_LAT, 0, 0.5},       {SPEX_TPT, 0, 1.5},      {SPEX_SNAPSHOT, 0, 500},
        {SPEX_SNAPSHOT, 2, 2500}, {SPEX_SNAPSHOT, 3, NAN}, {SPEX_LLC, 0, 500},
        {SPEX_LLC, 1, 1500},      {SPEX_FLT, 0, 500},      {SPEX_CTXSW, 0, 500},
        {SPEX_PERFCNTR, 0, 500},  {SPEX_SPAN, 0, 0.5},
    };
    static const char *const metrics[] = {"mean", "min", "max", "p50"};
    for (size_t c = 0; c < COUNT_OF(cases) * COUNT_OF(metrics); c++) {
        uint32_t type = cases[c / COUNT_OF(metrics)].type;
        double expected = cases[c / COUNT_OF(metrics)].expected;
        struct spex_figure figure =
            opened(metrics[c % COUNT_OF(metrics)], cases[c / COUNT_OF(metrics)].field, type);
        struct spex_record one = record(10, type, 500), none = record(20, type, 9);
        none.marks = SPEX_MARK_UNAVAILABLE;
        assert_true(isnan(value_of(&figure)));
        spex_figure_add(&figure, &one);
        spex_figure_add(&figure, &none);
        double found = value_of(&figure);
        assert_true(isnan(expected) ? isnan(found) : fabs(found - expected) < 1e-9);
        spex_figure_close(&figure);
    }
}

/* A clock whose ticks are longer than most executions: the median reads 0, and is as unsure as a tick is
 * long; numbers are what they are. */
TEST(a_quantile_of_times_is_no_surer_than_a_tick) {
    for (unsigned times = 0; times < 2; times++) {
        uint32_t type = times ? SPEX_LAT : SPEX_LLC;
        struct spex_figure figure = opened("p50", 0, type);
        uint64_t chance = 1;
        for (unsigned r = 0; r < 20000; r++) {
            struct spex_record one = record(10 * r, type, random_below(&chance, 10) < 3);
            spex_figure_add(&figure, &one);
        }
        struct spex_measured measured = spex_figure_measured(&figure, times ? 1000 : 1, true);
        assert_float_equal(measured.value, 0, 0);
        assert_float_equal(measured.error, times ? SPEX_STEP_DEVIATION / 1000 : 0, 1e-9);
        spex_figure_close(&figure);
    }
}

/* A rate counts records whatever their values, those that were lost before one by its weight, and
 * no time twice. */
TEST(rates) {
    struct spex_figure figure = opened("throughput", 0, SPEX_FLT);
    struct spex_record one = record(500, SPEX_FLT, 1), late = record(400, SPEX_FLT, 1),
                       other = record(1000, SPEX_FLT, 1);
    one.marks = SPEX_MARK_UNAVAILABLE;
    other.weight = 4;
    other.lost = 1;
    spex_figure_add(&figure, &one);
    spex_figure_add(&figure, &late);
    spex_figure_add(&figure, &other);
    assert_true(fabs(value_of(&figure) - 10) < 1e-9);
    spex_figure_close(&figure);
}

/* An error is told when it has been looked at while the records doubled, or at the end. */
TEST(watched) {
    uint64_t random = 1;
    struct spex_figure figure = opened("mean", 0, SPEX_SNAPSHOT);
    for (uint64_t r = 1; r <= 60; r++) {
        struct spex_record one = record(r, SPEX_SNAPSHOT, random_below(&random, 1000));
        spex_figure_add(&figure, &one);
        struct spex_measured now = spex_figure_measured(&figure, 1000, false);
        assert_true(isnan(now.error) || r >= 50);
        assert_true(isfinite(now.error) || r < 54);
    }
    spex_figure_close(&figure);
    figure = opened("mean", 0, SPEX_SNAPSHOT);
    for (uint64_t r = 1; r <= 60; r++) {
        struct spex_record one = record(r, SPEX_SNAPSHOT, random_below(&random, 1000));
        spex_figure_add(&figure, &one);
    }
    assert_true(isnan(spex_figure_measured(&figure, 1000, false).error));
    assert_true(spex_figure_measured(&figure, 1000, true).error > 0);
    spex_figure_close(&figure);
}

/* Looked at with 30 records first. */
TEST(watched_while_records_double) {
    for (uint64_t last = 58; last <= 61; last++) {
        uint64_t random = 1;
        struct spex_figure figure = opened("mean", 0, SPEX_SNAPSHOT);
        for (uint64_t r = 1; r <= last; r++) {
            struct spex_record one = record(r, SPEX_SNAPSHOT, random_below(&random, 1000));
            spex_figure_add(&figure, &one);
            if (r == 30)
                assert_true(isnan(spex_figure_measured(&figure, 1000, false).error));
        }
        assert_int_equal(isfinite(spex_figure_measured(&figure, 1000, false).error) != 0,
                         last >= 60);
        spex_figure_close(&figure);
    }
}

/* `least`: share of runs in which an interval must hold the truth, for a precision of 10 %, 5 % and
 * 2 %. */
static const struct kind {
    const char *name;
    struct arrival (*next)(struct source *source);
    double rho;
    double rate;
    double least[3];
} kinds[] = {
    {"independent", independent, 0, 1, {0.94, 0.94, 0.94}},
    {"autoregressive 0.5", autoregressive, 0.5, 1, {0.92, 0.94, 0.94}},
    {"autoregressive 0.9", autoregressive, 0.9, 1, {0.92, 0.92, 0.92}},
    {"autoregressive 0.99", autoregressive, 0.99, 1, {0.78, 0.85, 0.92}},
    {"queue 0.8", queue, 0.8, 0.8, {0.94, 0.94, 0.94}},
    {"threads 0.9", threads, 0.9, SOURCE_THREADS, {0.85, 0.85, 0.94}},
};

/* Records until it was narrow enough. */
static uint64_t run_until(const struct kind *kind, unsigned run, double precision, bool *held) {
    struct source source = {.random = mix(run + 1), .rho = kind->rho};
    struct spex_figure figure = opened("throughput", 0, SPEX_CNT);
    struct spex_measured measured;
    double now = 0;
    do {
        now += kind->next(&source).time * MICRO;
        struct spex_record one = record((uint64_t)now, SPEX_CNT, 1);
        spex_figure_add(&figure, &one);
        measured = spex_figure_measured(&figure, MICRO, false);
    } while (spex_measured_precision(&measured) > precision && figure.records < RECORDS_MAX);
    measured = spex_figure_measured(&figure, MICRO, true);
    *held = fabs(measured.value - kind->rate) <= 1.96 * measured.error;
    spex_figure_close(&figure);
    return figure.records;
}

TEST(stopping) {
    static const double precisions[] = {0.1, 0.05, 0.02};
    unsigned bad = 0;
    for (size_t k = 0; k < COUNT_OF(kinds) * COUNT_OF(precisions); k++) {
        const struct kind *kind = &kinds[k / COUNT_OF(precisions)];
        double precision = precisions[k % COUNT_OF(precisions)], records = 0;
        unsigned all_held = 0;
        for (unsigned r = 0; r < RUNS; r++) {
            bool held;
            records += (double)run_until(kind, r, precision, &held) / RUNS;
            all_held += held;
        }
        double least = kind->least[k % COUNT_OF(precisions)];
        bool is_bad = (double)all_held / RUNS < least;
        printf("%-20s to %2.0f %%: held in %.1f %%, %.0f records%s\n", kind->name, 100 * precision,
               100.0 * all_held / RUNS, records, is_bad ? " (bad)" : "");
        bad += is_bad;
    }
    assert_int_equal(bad, 0);
}
