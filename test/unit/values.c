/* SPDX-License-Identifier: MIT */
/* Sets of values against the same made at once: a difference is what was added, and values with
 * losses are both sets together. */
#include <math.h>

#include "../check.h"
#include "../values_take.h"

enum { SETS = 20, MOST = 400 };

static void near(double value, double expected, double part) {
    if (!(fabs(value - expected) <= part * fabs(expected) + 1e-9))
        fail_msg("%.17g instead of %.17g", value, expected);
}

/* Of all magnitudes, weighing 1 to 5. */
static void add_some(struct spex_values *one, struct spex_values *other, size_t count,
                     uint64_t *random) {
    for (size_t n = 0; n < count; n++) {
        uint64_t value = 1000 + (random_next(random) >> (24 + random_below(random, 40)));
        uint32_t weight = 1 + (uint32_t)random_below(random, 5);
        values_take(one, value, weight);
        if (other)
            values_take(other, value, weight);
    }
}

/* All figures but the spread. Extremes are those of the buckets. */
static void expect_set(const struct spex_values *values, const struct spex_values *expected) {
    near(values->weight, expected->weight, 0);
    near(values->mean, expected->mean, 1e-9);
    near(values->squares, expected->squares, 1e-6);
    near(spex_values_deviation(values), spex_values_deviation(expected), 1e-6);
    assert_memory_equal(&values->histogram, &expected->histogram, sizeof(values->histogram));
}

static void expect_in_bucket(uint64_t value, uint64_t expected) {
    assert_int_equal(spex_histogram_bucket(value), spex_histogram_bucket(expected));
}

TEST(a_difference_is_what_was_added) {
    static struct spex_values before, since, all;
    uint64_t random = 1;
    for (int set = 0; set < SETS; set++) {
        spex_values_clear(&all);
        spex_values_clear(&since);
        add_some(&all, NULL, 1 + random_below(&random, MOST), &random);
        before = all;
        add_some(&all, &since, 1 + random_below(&random, MOST), &random);
        spex_values_subtract(&all, &before);
        expect_set(&all, &since);
        expect_in_bucket(all.min, since.min);
        expect_in_bucket(all.max, since.max);
        assert_true(all.min >= since.min - since.min / 64 && all.max <= since.max + since.max / 64);
        /* A bucket's middle may have a half. */
        near(spex_values_quantile(&all, 0) - (double)all.min, 0.25, 1);
        near(spex_values_quantile(&all, 1) - (double)all.max, 0, 0);
        near(spex_values_quantile(&all, 0.5), spex_values_quantile(&since, 0.5), 1.0 / 64);
    }
}

/* The extremes of all bound those of a part: the least and the greatest are exact where they are
 * in the part's buckets. */
TEST(extremes_of_a_part_are_within_those_of_all) {
    static struct spex_values before, all;
    spex_values_clear(&all);
    values_take(&all, 5000, 1);
    before = all;
    values_take(&all, 1001, 1);
    values_take(&all, 70003, 1);
    spex_values_subtract(&all, &before);
    assert_in_range(all.min, 1001, 1001 + 1001 / 64);
    assert_in_range(all.max, 70003 - 70003 / 64, 70003);
    spex_values_clear(&all);
    values_take(&all, 10, 1);
    values_take(&all, 40, 1);
    before = all;
    values_take(&all, 20, 1);
    values_take(&all, 30, 1);
    spex_values_subtract(&all, &before);
    assert_int_equal(all.min, 20);
    assert_int_equal(all.max, 30);
}

/* Where all are alike, so are those of a part, of whatever scale: a bucket's middle is another. */
TEST(a_part_of_what_is_alike_is_alike) {
    static const double numbers[] = {-200, -0.75, 0, 0.3, 201, 1e9, -1e300};
    for (size_t n = 0; n < sizeof(numbers) / sizeof(*numbers); n++) {
        static struct spex_values values, before;
        spex_values_clear(&values);
        values.mean = numbers[n];
        values.weight = 3;
        spex_values_count(&values, numbers[n], 3);
        before = values;
        spex_values_count(&values, numbers[n], 2);
        values.weight = 5;
        spex_values_subtract(&values, &before);
        near(values.min, numbers[n], 0);
        near(values.max, numbers[n], 0);
        near(spex_values_quantile(&values, 0.5), numbers[n], 0);
    }
}

/* A few small values after many great ones: the sums of the latter are rounded by more than the
 * former come to. */
TEST(what_is_left_of_great_sums_is_not_rounding) {
    static struct spex_values before, since, all;
    uint64_t random = 7;
    spex_values_clear(&all);
    for (int n = 0; n < 1000; n++)
        values_take(&all, (UINT64_C(1) << 40) + random_next(&random) % 1000003, 1 + n % 7);
    before = all;
    for (uint64_t value = 0; value < 60; value += 20) {
        all = before;
        spex_values_clear(&since);
        for (int n = 0; n < 5; n++) {
            values_take(&all, value, 1);
            values_take(&since, value, 1);
        }
        spex_values_subtract(&all, &before);
        near(all.mean, since.mean, 0);
        assert_true(spex_values_deviation(&all) == 0);
    }
    all = before;
    for (uint64_t value = 900; value < 1000; value++)
        values_take(&all, value, 1);
    spex_values_subtract(&all, &before);
    near(all.mean, 949.5, 1.0 / 64);
    near(spex_values_deviation(&all), 28.87, 0.2);
}

/* What never had a value but 0 in an interval has no mean, whatever was before. */
TEST(zeros_after_something_are_zeros) {
    static struct spex_values before, all;
    spex_values_clear(&all);
    for (int n = 1; n <= 1000; n++)
        values_take(&all, (uint64_t)(n % 3), (uint32_t)(1 + n % 5));
    before = all;
    for (int n = 0; n < 312; n++)
        values_take(&all, 0, 1);
    spex_values_subtract(&all, &before);
    assert_true(all.mean == 0);
    assert_true(all.weight == 312);
}

TEST(nothing_is_left_of_a_set_less_itself) {
    static struct spex_values before, all, none;
    uint64_t random = 3;
    spex_values_clear(&none);
    spex_values_clear(&all);
    add_some(&all, NULL, MOST, &random);
    before = all;
    spex_values_subtract(&all, &none);
    assert_memory_equal(&all, &before, sizeof(all));
    spex_values_subtract(&all, &before);
    assert_memory_equal(&all, &none, sizeof(all));
    assert_true(spex_values_deviation(&all) == 0);
    assert_true(spex_values_quantile(&all, 0.5) == 0);
}

/* Losses stand for executions of the same values: whole ones are as if they had been recorded. */
TEST(values_with_losses_are_both) {
    static struct spex_values values, losses, both, got;
    uint64_t random = 4;
    for (int set = 0; set < SETS; set++) {
        spex_values_clear(&values);
        spex_values_clear(&losses);
        spex_values_clear(&both);
        add_some(&values, &both, 1 + random_below(&random, MOST), &random);
        add_some(&losses, &both, 1 + random_below(&random, MOST), &random);
        spex_values_weigh(&got, &values, &losses, 1);
        expect_set(&got, &both);
        assert_int_equal(got.min, values.min);
        assert_int_equal(got.max, values.max);
        assert_memory_equal(&got.spread, &losses.spread, sizeof(got.spread));
    }
}

/* A part of the losses counts by that part; what is rounded in one bucket is made up for in those
 * behind it. */
TEST(a_part_of_losses_counts_by_its_part) {
    static struct spex_values values, losses, got;
    uint64_t random = 5;
    for (int set = 1; set <= SETS; set++) {
        double factor = (double)set / SETS, owed = 0;
        spex_values_clear(&values);
        spex_values_clear(&losses);
        add_some(&values, NULL, 1 + random_below(&random, MOST), &random);
        add_some(&losses, NULL, 1 + random_below(&random, MOST), &random);
        spex_values_weigh(&got, &values, &losses, factor);
        double more = factor * losses.weight;
        near(got.weight, values.weight + more, 1e-12);
        near(got.mean, (values.mean * values.weight + losses.mean * more) / got.weight, 1e-12);
        near(got.squares + got.mean * got.mean * got.weight,
             values.squares + values.mean * values.mean * values.weight + factor * losses.squares +
                 losses.mean * losses.mean * more,
             1e-9);
        uint64_t total = 0;
        for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++) {
            uint64_t added = got.histogram.weights[b] - values.histogram.weights[b];
            owed += factor * (double)losses.histogram.weights[b] - (double)added;
            assert_true(fabs(owed) <= 0.5 + 1e-6);
            assert_true(losses.histogram.weights[b] || !added);
            total += got.histogram.weights[b];
        }
        assert_int_equal(got.histogram.total, total);
    }
}

/* Weights that another process has made up are bounded. */
TEST(no_losses_change_nothing) {
    static struct spex_values values, losses, got;
    uint64_t random = 6;
    spex_values_clear(&values);
    spex_values_clear(&losses);
    add_some(&values, NULL, MOST, &random);
    spex_values_weigh(&got, &values, NULL, 1);
    assert_memory_equal(&got, &values, sizeof(got));
    spex_values_weigh(&got, &values, &losses, 1);
    assert_memory_equal(&got, &values, sizeof(got));
    add_some(&losses, NULL, 1, &random);
    spex_values_weigh(&got, &values, &losses, 0);
    assert_memory_equal(&got, &values, sizeof(got));
    spex_values_weigh(&got, &values, &losses, NAN);
    assert_memory_equal(&got, &values, sizeof(got));
    spex_values_clear(&losses);
    losses.weight = 1;
    losses.histogram.weights[7] = UINT64_MAX;
    spex_values_weigh(&got, &values, &losses, 1);
    assert_int_equal(got.histogram.weights[7] - values.histogram.weights[7], UINT64_C(1) << 62);
}
