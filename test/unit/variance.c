/* SPDX-License-Identifier: MIT */
/* Variances against their formulas, worked out here from the units themselves; and, over many
 * samples of populations that are known, against what the means and shares really do. Records are
 * made here, so that there can be many. */
#include <math.h>
#include <sys/mman.h>

#include "../check.h"
#include "base/service_thread.h"
#include "profile/confidence.h"
#include "stats/tracer.h"

enum { EXECUTIONS = 6000, TRIALS = 1000 };

static struct spex_variance variance;

static void clear(double origin) {
    memset(&variance, 0, sizeof(variance));
    variance.origin = origin;
}

static void expect_near(double got, double expected, double relative) {
    if (!(fabs(got - expected) <= fabs(expected) * relative))
        fail_msg("%.9g instead of %.9g", got, expected);
}

/* Of distances from `mean`. */
static double variance_about(double mean) {
    struct spex_variance_sums sums = spex_variance_sums(&variance);
    double m = mean - variance.origin;
    return sums.local + sums.distances - 2 * m * sums.products + m * m * sums.weights;
}

TEST(single_executions) {
    uint64_t random = 1;
    double expected = 0;
    clear(500);
    for (int i = 0; i < 1000; i++) {
        uint64_t value = random_below(&random, 1000);
        uint32_t weight = 1 + (uint32_t)random_below(&random, 50);
        spex_variance_single(&variance, value, weight, 1);
        double distance = (double)value - 450;
        expected += weight * (weight - 1.0) * distance * distance;
    }
    expect_near(variance_about(450), expected, 1e-9);
}

TEST(what_is_recorded_for_sure_adds_nothing) {
    clear(0);
    for (uint64_t v = 0; v < 100; v++)
        spex_variance_single(&variance, v, 1, 1);
    for (uint64_t v = 0; v < 100; v++)
        spex_variance_in_burst(&variance, v, 1, 1, v % 10 == 0);
    assert_true(variance_about(0) == 0);
    assert_true(spex_variance_above(&variance, 1, 0.5) == 0);
}

/* The first has no neighbour; the last goes on. */
TEST(bursts_are_compared_with_their_neighbours) {
    static const double means[] = {10, 20, 26};
    const double squares =
        8.0 * 5 * 8 * 5 * (1 - 1.0 / 5); /* w (w - 1) for each pair of executions */
    clear(7);
    for (size_t b = 0; b < COUNT_OF(means); b++)
        for (int i = 0; i < 8; i++)
            spex_variance_in_burst(&variance, (uint64_t)means[b] + i % 2 * 2 - 1, 5, 1, i == 0);
    expect_near(variance_about(12), squares * (2 * 2 + 10 * 10 / 2.0 + 6 * 6 / 2.0), 1e-9);
    expect_near(spex_variance_sums(&variance).weights_all, 3 * squares, 1e-9);
    expect_near(spex_variance_sums(&variance).squares, 3 * squares * squares, 1e-9);
}

/* Each of w s executions that its records stand for is there with 1 / (w s). */
TEST(records_that_are_left_stand_for_those_lost) {
    clear(0);
    spex_variance_stretch(&variance, 1, 3);
    spex_variance_single(&variance, 10, 4, 3);
    expect_near(variance_about(0), 4 * 3 * (4 * 3 - 1) * 100.0, 1e-9);
    spex_variance_stretch(&variance, 0, 1);
    spex_variance_single(&variance, 10, 4, 1);
    expect_near(variance_about(0), 4 * 3 * (4 * 3 - 1) * 100.0 + 4 * 3 * 100, 1e-9);
}

TEST(what_was_before_is_taken_out) {
    static struct spex_variance before, later;
    clear(0);
    for (uint64_t v = 0; v < 100; v++)
        spex_variance_in_burst(&variance, v * v, 3, 1, v % 10 == 0);
    before = variance;
    for (uint64_t v = 0; v < 100; v++)
        spex_variance_single(&variance, v, 2, 1);
    later = variance;
    spex_variance_subtract(&variance, &before);
    expect_near(variance_about(0), 2 * 99 * 100.0 * 199 / 6, 1e-9);
    variance = later;
    spex_variance_subtract(&variance, &later);
    assert_true(variance_about(0) == 0);
    assert_true(spex_variance_above(&variance, 30, 0.5) == 0);
}

/* On average: a single one is off by a third. */
TEST(rows_tell_the_variance_of_a_share) {
    enum { LIMIT = 50, VARIANCES = 2000 };
    double sum = 0, expected = 0;
    for (uint64_t trial = 0; trial < VARIANCES; trial++) {
        clear(0);
        variance.random = mix(trial);
        for (uint64_t v = 0; v < 60; v++) {
            uint32_t weight = v < LIMIT ? 3 : 20;
            spex_variance_single(&variance, v, weight, 1);
            double distance = (v >= LIMIT) - 0.2;
            expected += weight * (weight - 1.0) * distance * distance / VARIANCES;
        }
        sum += spex_variance_above(&variance, LIMIT, 0.2) / VARIANCES;
    }
    expect_near(sum, expected, 0.04);
}

/* Samples of a population. */

static uint64_t population[EXECUTIONS], ordered[EXECUTIONS];

static double uniform(uint64_t *random) {
    return ((double)(random_next(random) >> 12) + 0.5) * 0x1p-52;
}

static int order(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

/* Nearly normal logarithms, which rise where there is a trend. */
static void populate(double rise, uint64_t *random) {
    for (int e = 0; e < EXECUTIONS; e++) {
        double normal = -6;
        for (int n = 0; n < 12; n++)
            normal += uniform(random);
        population[e] = (uint64_t)(1e6 * exp(0.5 * normal + rise * e / EXECUTIONS));
    }
    memcpy(ordered, population, sizeof(ordered));
    qsort(ordered, EXECUTIONS, sizeof(ordered[0]), order);
}

static double true_mean(void) {
    double sum = 0;
    for (int e = 0; e < EXECUTIONS; e++)
        sum += (double)population[e];
    return sum / EXECUTIONS;
}

static double true_quantile(double q) {
    return (double)ordered[(int)ceil(q * EXECUTIONS) - 1];
}

/* Each by itself, with periods of 5 and 40 by turns. */
static void sample(struct spex_tracer *tracer, uint64_t *random) {
    for (int e = 0; e < EXECUTIONS; e++) {
        uint32_t period = e / 500 % 2 ? 40 : 5;
        struct spex_record record = {.timestamp = 1,
                                     .probe_type = SPEX_LAT,
                                     .weight = period,
                                     .field_count = 1,
                                     .marks = SPEX_MARK_DRAWN,
                                     .fields = {population[e]}};
        if (uniform(random) * period < 1)
            assert_int_equal(spex_tracer_add(tracer, &record, 1), 0);
    }
}

static struct spex_profile_probe probe_of(const struct spex_tracer *tracer) {
    struct spex_metrics metrics;
    spex_tracer_metrics(tracer, 0, &metrics);
    return (struct spex_profile_probe){.count = EXECUTIONS,
                                       .weight = metrics.count,
                                       .weight_squares = metrics.weight_squares,
                                       .records = metrics.records};
}

/* Where told. */
struct held {
    int mean, median, late, late_told;
};

static void hold(struct held *held, const struct spex_tracer *tracer) {
    static struct spex_values all, *const values = &all;
    struct spex_profile_probe probe = probe_of(tracer);
    spex_values_weigh(&all, spex_tracer_values(tracer, 0, 0), spex_tracer_losses(tracer, 0, 0), 1);
    double margin = spex_mean_margin(&probe, values), low, high;
    held->mean += fabs(values->mean - true_mean()) <= margin;
    if (spex_quantile_bounds(&probe, values, 0.5, &low, &high))
        held->median += low <= true_quantile(0.5) && true_quantile(0.5) <= high;
    if (spex_quantile_bounds(&probe, values, 0.95, &low, &high)) {
        held->late_told++;
        held->late += low <= true_quantile(0.95) && true_quantile(0.95) <= high;
    }
}

TEST(samples_of_two_rates_hold_the_truth) {
    uint64_t random = 30;
    for (double rise = 0; rise < 2; rise++) {
        struct held held = {0};
        populate(rise, &random);
        for (int t = 0; t < TRIALS; t++) {
            struct spex_tracer *tracer;
            assert_int_equal(spex_tracer_create(&tracer), 0);
            sample(tracer, &random);
            hold(&held, tracer);
            spex_tracer_destroy(tracer);
        }
        print_message("rise %g: of %d intervals hold mean %d, p50 %d, p95 %d of %d\n", rise, TRIALS,
                      held.mean, held.median, held.late, held.late_told);
        assert_in_range(held.mean, TRIALS * 93 / 100, TRIALS * 97 / 100);
        assert_in_range(held.median, TRIALS * 93 / 100, TRIALS * 97 / 100);
        assert_in_range(held.late, held.late_told * 93 / 100, held.late_told * 97 / 100);
        assert_true(held.late_told > TRIALS * 9 / 10);
    }
}

/* Some tens of executions in a row take longer than others. */
static void populate_by_phases(uint64_t *random) {
    populate(0, random);
    for (int e = 0, left = 0, times = 1; e < EXECUTIONS; e++, left--) {
        if (left <= 0) {
            left = 1 + (int)(-40 * log(uniform(random)));
            times = uniform(random) < 0.5 ? 1 : 4;
        }
        ordered[e] = population[e] *= (uint64_t)times;
    }
    qsort(ordered, EXECUTIONS, sizeof(ordered[0]), order);
}

/* In slices of 20 executions, of which every second makes a record, after hold-offs of 60 to 180.
 * All are recorded up to the first hold-off. */
static void sample_in_slices(struct spex_tracer *tracer, uint64_t *random) {
    enum { FIRST = 30, SLICE = 20 };
    for (int e = 0, on = FIRST; e < EXECUTIONS; e++, on--) {
        if (on <= 0) {
            int off = 60 + (int)(120 * uniform(random));
            spex_tracer_slice(tracer, 0, 1 + (double)off / SLICE);
            e += off;
            on = SLICE;
        }
        struct spex_record record = {.timestamp = 1,
                                     .probe_type = SPEX_LAT,
                                     .weight = e < FIRST ? 1 : 2,
                                     .field_count = 1,
                                     .marks = SPEX_MARK_DRAWN};
        if (e < EXECUTIONS && uniform(random) * record.weight < 1) {
            record.fields[0] = population[e];
            assert_int_equal(spex_tracer_add(tracer, &record, 1), 0);
        }
    }
}

/* A slice tells what a few moments were like, however many records it has. */
TEST(samples_in_slices_hold_the_truth) {
    uint64_t random = 31;
    struct held held = {0};
    for (int t = 0; t < TRIALS; t++) {
        struct spex_tracer *tracer;
        populate_by_phases(&random);
        assert_int_equal(spex_tracer_create(&tracer), 0);
        sample_in_slices(tracer, &random);
        hold(&held, tracer);
        spex_tracer_destroy(tracer);
    }
    print_message("slices: of %d intervals hold mean %d, p50 %d, p95 %d of %d\n", TRIALS, held.mean,
                  held.median, held.late, held.late_told);
    assert_in_range(held.mean, TRIALS * 93 / 100, TRIALS * 99 / 100);
    assert_in_range(held.median, TRIALS * 93 / 100, TRIALS * 99 / 100);
    assert_true(held.late >= held.late_told * 93 / 100);
}

/* Pages of what spex_pages_take has returned that are there. */
static unsigned pages_there(void *taken, size_t bytes) {
    enum { PAGES_MOST = 64 };
    unsigned char there[PAGES_MOST];
    size_t pages = (bytes + (size_t)sysconf(_SC_PAGESIZE) - 1) / (size_t)sysconf(_SC_PAGESIZE);
    unsigned sum = 0;
    assert_true(pages <= PAGES_MOST);
    assert_int_equal(mincore(taken, bytes, there), 0);
    for (size_t p = 0; p < pages; p++)
        sum += there[p] & 1;
    return sum;
}

/* Rows to which nothing was added have no page of memory, before and after. */
TEST(a_copy_has_what_was_added) {
    struct spex_variance *one = spex_pages_take(sizeof(*one));
    struct spex_variance *other = spex_pages_take(sizeof(*other));
    uint64_t random = 3;
    assert_non_null(one);
    assert_non_null(other);
    spex_variance_stretch(one, 1, 3);
    for (int i = 0; i < 1000; i++)
        spex_variance_single(one, random_below(&random, 1000), 2, 3);
    spex_variance_single(one, (double)UINT64_MAX, 2, 1);
    unsigned there = pages_there(one, sizeof(*one));
    spex_variance_copy(other, one);
    assert_true(pages_there(one, sizeof(*one)) == there);
    assert_true(pages_there(other, sizeof(*other)) <= there);
    if (sysconf(_SC_PAGESIZE) == 4096)
        assert_true(there < sizeof(*one) / 4096);
    assert_memory_equal(other, one, sizeof(*one));
    spex_pages_give_back(one, sizeof(*one));
    spex_pages_give_back(other, sizeof(*other));
}
