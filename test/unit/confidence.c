/* SPDX-License-Identifier: MIT */
/* Intervals against numbers from tables, and what losses add to values. */
#include <math.h>

#include "../check.h"
#include "base/student.h"
#include "chance.h"
#include "profile/confidence.h"
#include "profile/figures.h"

static struct spex_values values;

/* Records of one weight, with values of standard deviation 1 (that of a sample: over n - 1). */
static struct spex_profile_probe sample(unsigned records, double weight) {
    spex_values_clear(&values);
    values.weight = records * weight;
    values.mean = 10;
    values.squares = values.weight * (records - 1) / records;
    return (struct spex_profile_probe){.records = records,
                                       .count = records * weight,
                                       .weight = records * weight,
                                       .weight_squares = records * weight * weight};
}

/* Each value from 1 on once. */
static void add_up_to(unsigned most) {
    for (unsigned v = 1; v <= most; v++)
        spex_histogram_add(&values.histogram, v, 1);
    values.min = 1;
    values.max = most;
}

static void expect_near(double got, double expected, double relative) {
    if (!(fabs(got - expected) <= expected * relative))
        fail_msg("%.9g instead of %.9g", got, expected);
}

/* 97.5 % points of Student's t. */
TEST(means_of_small_samples) {
    static const struct {
        unsigned freedom;
        double t;
    } known[] = {{2, 4.30265}, {3, 3.18245},  {4, 2.77645},
                 {9, 2.26216}, {30, 2.04227}, {1000, 1.96234}};
    for (size_t k = 0; k < COUNT_OF(known); k++) {
        struct spex_profile_probe probe = sample(known[k].freedom + 1, 1e9);
        expect_near(spex_mean_margin(&probe, &values), known[k].t / sqrt(known[k].freedom + 1),
                    0.001);
    }
}

TEST(of_all_executions_nothing_is_unsure) {
    double low, high;
    struct spex_profile_probe probe = sample(100, 1);
    assert_false(spex_sampled(&probe));
    assert_true(spex_mean_margin(&probe, &values) == 0);
    for (uint64_t v = 0; v < 100; v++)
        spex_histogram_add(&values.histogram, v % 10, 1);
    values.min = 0;
    values.max = 9;
    assert_true(spex_quantile_bounds(&probe, &values, 0.99, &low, &high));
    assert_true(low == 9);
    assert_true(high == 9);
}

/* Three quarters of the executions are unknown. */
TEST(what_has_been_recorded_is_sure) {
    struct spex_profile_probe few = sample(100, 1e9);
    double of_few = spex_mean_margin(&few, &values);
    struct spex_profile_probe probe = sample(100, 4);
    assert_true(spex_sampled(&probe));
    expect_near(spex_mean_margin(&probe, &values), of_few * sqrt(0.75), 1e-6);
}

static void expect_unknown(const struct spex_profile_probe *probe, enum spex_margin_unknown why) {
    assert_true(spex_mean_margin(probe, &values) < 0);
    assert_int_equal(spex_margin_unknown(probe, &values), why);
}

TEST(too_few_records_say_nothing) {
    double low, high;
    for (unsigned records = 0; records < 3; records++) {
        struct spex_profile_probe probe = sample(records ? records : 1, 1000);
        if (!records) /* lost */
            probe = (struct spex_profile_probe){.count = 1};
        expect_unknown(&probe, SPEX_FEW_RECORDS);
        assert_false(spex_quantile_bounds(&probe, &values, 0.5, &low, &high));
    }
}

/* 99 records of weight 1 and one of 901 say about as much as 1.2 of equal weight. */
TEST(one_heavy_record_says_little) {
    struct spex_profile_probe probe = {
        .records = 100, .count = 99 + 901, .weight = 99 + 901, .weight_squares = 99 + 901.0 * 901};
    sample(100, 10);
    expect_unknown(&probe, SPEX_FEW_RECORDS);
}

/* By the binomial law of 100 records the median's rank is 50 ± 9.8, the 90th percentile's 90 ± 5.9,
 * which its skewness moves by 0.4. */
TEST(quantiles) {
    double low, high;
    struct spex_profile_probe probe = sample(100, 1000);
    for (uint64_t v = 1; v <= 100; v++)
        spex_histogram_add(&values.histogram, v, 1000);
    values.min = 1;
    values.max = 100;
    assert_true(spex_quantile_bounds(&probe, &values, 0.5, &low, &high));
    assert_true(low == 41);
    assert_true(high == 60);
    assert_true(spex_quantile_bounds(&probe, &values, 0.9, &low, &high));
    assert_true(low == 84);
    assert_true(high == 96);
    assert_false(spex_quantile_bounds(&probe, &values, 0.99, &low, &high));
    assert_true(spex_quantile_bounds(&probe, &values, 0.01, &low, &high));
    assert_true(low == 0); /* below the least there may be anything, too */
    assert_true(high == 4);
}

/* What is left of records most of which were lost is no sample of them. */
TEST(with_most_records_lost_no_margin_is_told) {
    struct spex_profile_probe probe = sample(1000, 1);
    double low, high;
    add_up_to(1000);
    probe.count = 2000;
    probe.lost = 1000;
    assert_true(spex_mean_margin(&probe, &values) > 0);
    assert_true(spex_quantile_bounds(&probe, &values, 0.5, &low, &high));
    probe.count = 2001;
    probe.lost = 1001;
    expect_unknown(&probe, SPEX_MOST_LOST);
    assert_false(spex_quantile_bounds(&probe, &values, 0.5, &low, &high));
    /* Those that are left stand for 10 executions each, those that were lost for one. */
    probe.weight = 10000;
    probe.count = 11001;
    assert_true(spex_mean_margin(&probe, &values) > 0);
    probe.held_count = 1e6; /* without a record, but not lost */
    assert_true(spex_mean_margin(&probe, &values) > 0);
    probe.count = 20001;
    expect_unknown(&probe, SPEX_MOST_LOST);
    probe.count = 20000;
    assert_true(spex_mean_margin(&probe, &values) > 0);
    probe.count_variance = 1; /* the count comes from the records */
    expect_unknown(&probe, SPEX_MOST_LOST);
    probe.count = probe.count_variance = 0; /* or there is none */
    expect_unknown(&probe, SPEX_MOST_LOST);
}

/* Where they are few the others are a sample; those that are left in are the long ones. */
TEST(records_without_a_value_are_missing) {
    struct spex_profile_probe probe = sample(1000, 1);
    double low, high;
    add_up_to(900);
    values.weight = 900;
    values.squares = 900 * 200 * 200;
    probe.count = 1000;
    probe.probe_type = SPEX_LAT;
    assert_false(spex_sampled(&probe));
    probe.marked[0] = 100;
    assert_true(spex_sampled(&probe));
    double margin = spex_mean_margin(&probe, &values);
    assert_true(margin > 0);
    assert_true(spex_quantile_bounds(&probe, &values, 0.5, &low, &high) && low < 450 && high > 450);
    probe.marked[0] = 101;
    expect_unknown(&probe, SPEX_MANY_LEFT_OUT);
    assert_false(spex_quantile_bounds(&probe, &values, 0.5, &low, &high));
    /* A counter that is not available is so for any execution. */
    probe.probe_type = SPEX_LLC;
    probe.marked[0] = 0;
    probe.marked[2] = 100;
    expect_near(spex_mean_margin(&probe, &values), margin, 1e-9);
    probe.marked[2] = 500;
    values.weight = 500;
    values.squares = 500 * 200 * 200;
    assert_true(spex_mean_margin(&probe, &values) > margin);
}

/* Most executions have been recorded for sure, and two records stand for 50 others each: these tell
 * nothing of how values differ, but the others do. The variance is that of 100 executions. */
TEST(few_records_of_chance_beside_sure_ones) {
    enum { SURE = 10000, HEAVY = 2, WEIGHT = 51 };
    const double all = SURE + HEAVY * WEIGHT, chance = HEAVY * WEIGHT * (WEIGHT - 1);
    struct spex_profile_probe probe = {.records = SURE + HEAVY,
                                       .count = all,
                                       .weight = all,
                                       .weight_squares = SURE + HEAVY * WEIGHT * WEIGHT};
    spex_values_clear(&values);
    values.weight = all;
    values.mean = 10;
    values.squares = all;
    for (int h = 0; h < HEAVY; h++)
        spex_variance_single(&values.spread, 10 + h, WEIGHT, 1);
    expect_near(spex_mean_margin(&probe, &values), 1.96 * sqrt(chance) / all, 0.01);
    /* Two bursts of as many would tell nothing. */
    spex_values_clear(&values);
    values.weight = all;
    values.squares = all;
    for (int h = 0; h < HEAVY * 25; h++)
        spex_variance_in_burst(&values.spread, h, 3, 1, h % 25 == 0);
    expect_unknown(&probe, SPEX_FEW_STRETCHES);
}

/* Of those that were counted more have no record than chance leaves out. */
TEST(long_spans_have_no_record) {
    struct spex_profile_probe probe = sample(10000, 10);
    probe.probe_type = SPEX_SPAN;
    probe.count = 1.03 * probe.weight;
    assert_true(spex_mean_margin(&probe, &values) > 0); /* chance, or open at the end */
    probe.held_seconds = 1;
    assert_true(spex_mean_margin(&probe, &values) > 0);
    probe.count = 1.06 * probe.weight;
    expect_unknown(&probe, SPEX_LONG_SPANS_MISSING);
    probe.held_count = 1e6; /* without a record, as it was off */
    expect_unknown(&probe, SPEX_LONG_SPANS_MISSING);
    probe.probe_type = SPEX_LAT;
    assert_true(spex_mean_margin(&probe, &values) > 0);
}

/* In regions executions are known by records: what there are at least is less by their margin. */
TEST(what_is_told_of_bounds) {
    struct spex_profile_probe probe = {.on_seconds = 1, .count = 100, .held_seconds = 9};
    probe.held_count = 900;
    probe.uncounted = 1000;
    assert_false(spex_rate_is_bound(&probe));
    expect_near(spex_count_told(&probe), 1000, 1e-6);
    expect_near(spex_rate_told(&probe), 100, 1e-6);
    probe.uncounted = 1001;
    assert_true(spex_rate_is_bound(&probe));
    expect_near(spex_count_told(&probe), 1000, 1e-6);
    expect_near(spex_rate_told(&probe), 100, 1e-6);
    probe.count_variance = pow(50 / 1.959964, 2);
    expect_near(spex_count_told(&probe), 950, 1e-6);
    expect_near(spex_rate_told(&probe), 95, 1e-6);
    probe.held_count = 0; /* slices tell nothing */
    assert_false(spex_rate_is_bound(&probe));
    expect_near(spex_count_told(&probe), 50, 1e-6);
}

/* While it was on the program was slower, so its rate then is none. */
TEST(a_rate_needs_a_count) {
    struct spex_profile_probe probe = {.on_seconds = 1, .count = 100};
    assert_true(spex_rate_known(&probe) && spex_count_known(&probe));
    probe.held_seconds = 9;
    probe.uncounted = 100;
    assert_true(spex_rate_known(&probe) && spex_count_known(&probe));
    probe.uncounted = 101;
    assert_false(spex_rate_known(&probe) || spex_count_known(&probe));
    probe.held_seconds = 0; /* it was polled */
    assert_true(spex_rate_known(&probe) && !spex_count_known(&probe));
    probe.on_seconds = 0;
    probe.uncounted = 0;
    assert_false(spex_rate_known(&probe));
    probe.on_seconds = 1;
    assert_true(spex_rate_known(&probe) && spex_count_known(&probe));
    probe.refused = 1;
    assert_false(spex_rate_known(&probe) || spex_count_known(&probe));
}

static void expect_mean(const struct spex_profile *profile, double mean) {
    struct spex_figures figures;
    spex_figures_of(profile, &profile->rows[0], 0, &figures);
    assert_true(fabs(figures.mean - mean) < 1e-9);
}

/* Ten of 10, and next to losses 100: for as many as the probe has lost. */
TEST(what_was_lost_weighs) {
    static struct spex_values losses;
    static struct spex_profile_row row;
    const struct spex_profile profile = {.rows = &row, .row_count = 1};
    spex_values_clear(&values);
    values.weight = values.mean = 10;
    losses.weight = 4;
    losses.mean = 100;
    row.values[0] = &values;
    row.probe = (struct spex_profile_probe){.probe_type = SPEX_SNAPSHOT,
                                            .series = 1,
                                            .count = 10,
                                            .weight = 10,
                                            .records = 10,
                                            .period_last = 1};
    expect_mean(&profile, 10);
    row.losses[0] = &losses;
    expect_mean(&profile, 10);
    row.probe.lost = 2;
    expect_mean(&profile, (10 * 10 + 2 * 100) / 12.0);
    row.probe.lost = 8; /* those next to no record of it have no value */
    expect_mean(&profile, (10 * 10 + 4 * 100) / 14.0);
    row.probe.lost = 1;
    row.probe.held_count = 1; /* a slice of the time stands for it */
    expect_mean(&profile, (10 * 10 + 2 * 100) / 12.0);
    row.probe.held_count = 0;
    row.probe.uncounted = 1; /* or for at most so many */
    expect_mean(&profile, (10 * 10 + 2 * 100) / 12.0);
    row.probe.period_last = 2;
    row.probe.count = 11;
    expect_mean(&profile, (10 * 10 + 2 * 100) / 12.0);
    row.probe.uncounted = -1; /* not known */
    expect_mean(&profile, (10 * 10 + 1 * 100) / 11.0);
    row.probe.count_variance = 1;
    expect_mean(&profile, (10 * 10 + 4 * 100) / 14.0);
}

/* The expansion by skewness holds no more where q^n is large: of 38 records none may be above the
 * quantile 0.999. */
TEST(extreme_quantiles_of_few_records_are_not_told) {
    static const double beyond[] = {20, 38, 79, 1000, 3600};
    double low, high;
    for (size_t n = 0; n <= COUNT_OF(beyond); n++) {
        unsigned records = n < COUNT_OF(beyond) ? (unsigned)beyond[n] : 4000;
        struct spex_profile_probe probe = sample(records, 1000);
        for (unsigned v = 1; v <= records; v++)
            spex_histogram_add(&values.histogram, v, 1000);
        values.min = 1;
        values.max = records;
        bool told = spex_quantile_bounds(&probe, &values, 0.999, &low, &high);
        assert_int_equal(told, n == COUNT_OF(beyond));
    }
}

/* Two records of 328 executions: a thread's budget allowed no more. And all records of a time after
 * which the budget held the probe off. */
TEST(executions_without_a_record_are_not_known) {
    double low, high;
    struct spex_profile_probe withheld = sample(2, 1), held = sample(100, 1);
    withheld.count = 328;
    assert_true(spex_sampled(&withheld));
    assert_true(spex_mean_margin(&withheld, &values) < 0);
    assert_false(spex_quantile_bounds(&withheld, &values, 0.5, &low, &high));
    held.uncounted = 300;
    assert_true(spex_sampled(&held));
    expect_near(spex_mean_margin(&held, &values), 1.98422 * sqrt(0.75 / 100), 0.001);
}

/* Two seconds of an execution each millisecond, which takes ten times as long in a tenth of the phases of
 * 30 ms. For 150 of 450 ms no records are made, nor for the first 50. Whether the margin holds the mean of
 * all executions. */
static bool stretches_hold(uint64_t seed) {
    enum { EXECUTIONS = 2000, PHASE = 30, FIRST = 50, CYCLE = 450, WITHOUT = 150, BLOCK = 100 };
    double all = 0, sum = 0, squares = 0, slow = 0;
    unsigned records = 0;
    spex_values_clear(&values);
    for (unsigned e = 0; e < EXECUTIONS; e++) {
        slow = e % PHASE ? slow : chance_uniform(&seed) < 0.1;
        double value = (slow > 0 ? 200 : 20) * (0.9 + 0.2 * chance_uniform(&seed));
        all += value / EXECUTIONS;
        if (e < FIRST || (e - FIRST) % CYCLE >= CYCLE - WITHOUT)
            continue;
        spex_variance_block(&values.spread, 1 + e / BLOCK);
        spex_variance_in_block(&values.spread, value, 1);
        records++;
        sum += value;
        squares += value * value;
    }
    const struct spex_profile_probe probe = {
        .records = records, .count = EXECUTIONS, .weight = records, .weight_squares = records};
    values.weight = records;
    values.mean = sum / records;
    values.squares = squares - sum * sum / records;
    return fabs(values.mean - all) <= spex_mean_margin(&probe, &values);
}

TEST(stretches_without_records_are_in_the_margin) {
    enum { RUNS = 400 };
    unsigned hold = 0;
    for (uint64_t run = 1; run <= RUNS; run++)
        hold += stretches_hold(run);
    /* Slow phases are few, so that their number in a run is skewed. */
    assert_true(hold >= 0.87 * RUNS);
}

/* Nothing is sampled; the histogram knows a value to its bucket alone. */
TEST(quantiles_have_the_width_of_buckets) {
    double low, high;
    struct spex_profile_probe probe = sample(100, 1);
    for (uint64_t v = 0; v < 100; v++)
        spex_histogram_add(&values.histogram, 100000 + v % 2, 1);
    values.min = 100000;
    values.max = 200000;
    assert_true(spex_quantile_bounds(&probe, &values, 0.5, &low, &high));
    assert_true(low == 100000);
    assert_true(high == 100351);
}

/* A double has no nearer number than 2^64, which is none of 64 bits. */
TEST(the_greatest_values_have_bounds) {
    double low, high;
    struct spex_profile_probe probe = sample(100, 1e9);
    spex_histogram_add(&values.histogram, UINT64_MAX, 100);
    values.min = values.max = 0x1p64;
    assert_true(spex_quantile_bounds(&probe, &values, 0.5, &low, &high));
    assert_true(high == 0x1p64);
}

/* As much weight in each of many buckets tells the bounds' ranks: those of a binomial share, by its
 * variance and its skewness, where a part of the executions has been recorded. */
TEST(bounds_are_at_the_ranks_of_a_binomial_share) {
    enum { BUCKETS = 3000 };
    static const double shares[] = {0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97};
    static const unsigned samples[] = {30, 100, 400, 2000};
    for (size_t n = 0; n < 2 * COUNT_OF(samples); n++) {
        double records = samples[n / 2], weight = n % 2 ? 1e9 : 2;
        struct spex_profile_probe probe = sample(samples[n / 2], weight);
        double unknown = 1 - 1 / weight, t = spex_student_95(records - 1);
        for (unsigned b = 0; b < BUCKETS; b++)
            values.histogram.weights[b] = 7;
        values.histogram.total = 7 * BUCKETS;
        values.min = 0;
        values.max = (double)UINT64_MAX;
        for (size_t s = 0; s < COUNT_OF(shares); s++) {
            double low, high, q = shares[s], variance = unknown / records;
            double skew = (1 - 2 * q) * (1.959964 * 1.959964 - 1) / 6 * variance;
            double middle = q + skew, margin = t * sqrt(q * (1 - q) * variance);
            bool told = spex_quantile_bounds(&probe, &values, q, &low, &high);
            unsigned first = spex_histogram_bucket((uint64_t)low);
            unsigned last = spex_histogram_bucket((uint64_t)high);
            bool is_least = middle - margin <= 0, is_most = middle + margin >= 1;
            assert_true(is_least ? low == 0 : fabs(first - (middle - margin) * BUCKETS) <= 1.001);
            assert_true(fabs(last - fmin(middle + margin, 1) * BUCKETS) <= 1.001);
            assert_int_equal(told, !is_most && pow(q, 1 / variance) < 0.025);
        }
    }
}

/* Where records are not units, the rows at the quantile tell the share's variance. */
TEST(bounds_are_as_wide_as_rows_tell) {
    enum { BUCKETS = 3000, UNITS = 25 };
    static const double shares[] = {0.2, 0.4, 0.5, 0.6, 0.8};
    const double total = 7.0 * BUCKETS, freedom = 1 / (1.0 / SPEX_VARIANCE_WAYS + 1.0 / UNITS);
    uint64_t random = 1;
    struct spex_profile_probe probe = sample(100, 1e9);
    for (unsigned b = 0; b < BUCKETS; b++)
        values.histogram.weights[b] = 7;
    values.histogram.total = 7 * BUCKETS;
    values.min = 0;
    values.max = (double)UINT64_MAX;
    values.spread.sums.weights_all = UNITS;
    values.spread.sums.squares = UNITS;
    for (unsigned r = 0; r < spex_variance_row(BUCKETS); r++)
        for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++)
            values.spread.rows[r][way] = random_below(&random, 2) ? 90 : -90;
    for (size_t s = 0; s < COUNT_OF(shares); s++) {
        double low, high, q = shares[s];
        unsigned bucket = (unsigned)ceil(q * BUCKETS) - 1, row = spex_variance_row(bucket);
        row += q < 0.5;
        double above = 1 - 7 * (double)spex_variance_bucket(row) / total;
        double of_rows = spex_variance_above(&values.spread, row, above) / (total * total);
        double variance = of_rows / (above * (1 - above));
        double margin = spex_student_95(freedom) * sqrt(q * (1 - q) * variance);
        double middle = q + (1 - 2 * q) * (1.959964 * 1.959964 - 1) / 6 * variance;
        assert_true(variance > 0.001 && variance < 0.2);
        spex_quantile_bounds(&probe, &values, q, &low, &high);
        unsigned first = spex_histogram_bucket((uint64_t)low);
        unsigned last = spex_histogram_bucket((uint64_t)high);
        assert_true(fabs(first - fmax(middle - margin, 0) * BUCKETS) <= 1.001);
        assert_true(fabs(last - fmin(middle + margin, 1) * BUCKETS) <= 1.001);
    }
}
