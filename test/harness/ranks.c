/* SPDX-License-Identifier: MIT */
/* Chances are those of counting all possibilities, intervals hold the truth as often as they say,
 * and whatever the distribution. */
#define _GNU_SOURCE
#include "harness/ranks.h"
#include "../check.h"
#include "../scarce_memory.h"
#include "harness/figures.h"
#include "noise.h"

/* The signed-rank test by all 2^n signs of the differences from 0. */
static double chance_by_counting(const double *values, unsigned n) {
    double found = 0, as_far = 0, most = n * (n + 1) / 2.0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j <= i; j++)
            found += values[i] + values[j] > 0;
    for (unsigned signs = 0; signs < 1u << n; signs++) {
        double sum = 0;
        for (unsigned rank = 1; rank <= n; rank++)
            sum += signs >> (rank - 1) & 1 ? rank : 0;
        as_far += fabs(sum - most / 2) >= fabs(found - most / 2);
    }
    return as_far / (1u << n);
}

TEST(test_signed_ranks_by_counting) {
    struct spex_random random;
    spex_random_seed(&random, 1, 0);
    for (unsigned n = 1; n <= 12; n++)
        for (int sample = 0; sample < 20; sample++) {
            double values[12];
            for (unsigned i = 0; i < n; i++)
                values[i] = uniform(&random) - 0.4;
            double expected = chance_by_counting(values, n);
            assert_true(fabs(spex_centre_chance(values, n, 0, 0) - expected) < 1e-12);
        }
}

TEST(test_known_chances) {
    const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, mixed[] = {2.5, 6, 7, 8};
    const double all[] = {1, 2, 3, 4, 5, 6};
    assert_true(fabs(spex_centre_chance(all, 6, 0, 1) - 1 / 64.0) < 1e-12);
    assert_true(fabs(spex_centre_chance(all, 6, 0, 0) - 2 / 64.0) < 1e-12);
    assert_true(fabs(spex_centre_chance(all, 6, 0, -1) - 1) < 1e-12);
    assert_true(fabs(spex_centre_chance(all, 6, 3.5, 0) - 1) < 1e-12);
    /* 8 over 4 are 70 ways; with two pairs the other way round there are 4 ways as far. */
    assert_true(fabs(spex_shift_chance(a, 4, b, 4, 0, 1) - 1 / 70.0) < 1e-12);
    assert_true(fabs(spex_shift_chance(a, 4, mixed, 4, 0, 1) - 4 / 70.0) < 1e-12);
    assert_true(fabs(spex_shift_chance(b, 4, a, 4, 0, -1) - 1 / 70.0) < 1e-12);
    assert_true(fabs(spex_shift_chance(a, 4, b, 4, 4, 0) - 1) < 1e-12);
}

TEST(test_intervals_of_few_values) {
    const double values[] = {3, 1, 2, 5, 4, 6}, more[] = {13, 11, 12, 15, 14, 16};
    struct spex_estimate estimate = spex_centre(values, 6);
    assert_true(estimate.value == 3.5 && estimate.low == 1 && estimate.high == 6);
    estimate = spex_centre(values, 5);
    assert_true(estimate.value == 3 && isinf(estimate.low) && isinf(estimate.high));
    estimate = spex_shift(values, 6, more, 6);
    assert_true(estimate.value == 10 && estimate.low > 5 && estimate.high < 15);
    assert_true(isinf(spex_shift(values, 3, more, 3).low));
    assert_true(spex_centre(values, 1).value == 3);
}

/* More values than are looked at. */
TEST(test_many_values) {
    enum { MANY = 10000 };
    static double values[MANY], more[MANY];
    struct spex_random random;
    spex_random_seed(&random, 2, 0);
    for (int i = 0; i < MANY; i++) {
        values[i] = uniform(&random);
        more[i] = 1 + uniform(&random);
    }
    struct spex_estimate centre = spex_centre(values, MANY);
    struct spex_estimate shift = spex_shift(values, MANY, more, MANY);
    assert_true(centre.low < 0.5 && centre.high > 0.5 && centre.high - centre.low < 0.1);
    assert_true(shift.low < 1 && shift.high > 1 && shift.high - shift.low < 0.25);
    assert_true(spex_shift_chance(values, MANY, more, MANY, 0, 0) < 1e-9);
}

TEST(test_intervals_hold_the_truth) {
    enum { SAMPLES = 1000, VALUES = 20 };
    struct spex_random random;
    int centres = 0, shifts = 0;
    spex_random_seed(&random, 3, 0);
    for (int sample = 0; sample < SAMPLES; sample++) {
        double a[VALUES], b[VALUES], difference[VALUES];
        for (int i = 0; i < VALUES; i++) {
            a[i] = log(noisy(&random, 1));
            b[i] = log(noisy(&random, 1.02));
            difference[i] = b[i] - a[i];
        }
        struct spex_estimate centre = spex_centre(difference, VALUES);
        struct spex_estimate shift = spex_shift(a, VALUES, b, VALUES);
        centres += centre.low <= log(1.02) && log(1.02) <= centre.high;
        shifts += shift.low <= log(1.02) && log(1.02) <= shift.high;
    }
    /* 95 %, and three standard errors of the share less. */
    assert_true(centres >= 0.93 * SAMPLES && shifts >= 0.93 * SAMPLES);
}

TEST(test_holm) {
    double chances[] = {0.01, 0.04, 0.03, 0.005};
    const double expected[] = {0.03, 0.06, 0.06, 0.02};
    spex_holm(chances, 4);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(chances[i] - expected[i]) < 1e-12);
    double great[] = {0.9, 0.8};
    spex_holm(great, 2);
    assert_true(great[0] == 1 && great[1] == 1);
    spex_holm(NULL, 0);
}

/* Without disturbances it is in the middle. With them, in two of three batches, it stays, whether
 * they are longer by a part or by a multiple. */
TEST(test_undisturbed_batches) {
    struct spex_random random;
    spex_random_seed(&random, 7, 0);
    for (int sample = 0; sample < 1000; sample++) {
        double values[128], disturbed[128];
        for (int i = 0; i < 128; i++) {
            values[i] = 100 + uniform(&random) + uniform(&random) - 1;
            disturbed[i] = i % 3 ? values[i] * (1 + 2 * uniform(&random)) : values[i];
        }
        assert_true(fabs(spex_bench_undisturbed(values, 128) - 100) < 0.75);
        assert_true(fabs(spex_bench_undisturbed(disturbed, 128) - 100) < 2);
        assert_true(spex_bench_median(disturbed, 128) > 115);
    }
    double few[] = {9, 1, 2, 3, 100}, same[128] = {0};
    assert_true(spex_bench_undisturbed(few, 5) == 3);
    assert_true(spex_bench_undisturbed(few, 1) == 1);
    for (int i = 0; i < 128; i++)
        same[i] = i % 2 ? 5 : 7;
    assert_true(spex_bench_undisturbed(same, 128) == 5);
}

/* Nothing is known then: every value is as likely as any other, and no difference is one. */
TEST(test_without_memory) {
    const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {11, 12, 13, 14, 15, 16};
    for (unsigned long n = 1; n <= 2; n++) {
        scarce_left = n;
        struct spex_estimate centre = spex_centre(a, 6);
        assert_int_equal(scarce_left, 0);
        scarce_left = n;
        struct spex_estimate shift = spex_shift(a, 6, b, 6);
        assert_int_equal(scarce_left, 0);
        assert_true(isnan(centre.value) && isnan(shift.value));
        assert_true(centre.low == -INFINITY && centre.high == INFINITY);
        assert_true(shift.low == -INFINITY && shift.high == INFINITY);
    }
    scarce_left = 1;
    assert_true(spex_centre_chance(a, 6, 0, 1) == 1);
    assert_int_equal(scarce_left, 0);
    scarce_left = 1;
    assert_true(spex_shift_chance(a, 6, b, 6, 0, 1) == 1);
    assert_int_equal(scarce_left, 0);
    assert_int_equal(scarce_held.count, 0);
}
