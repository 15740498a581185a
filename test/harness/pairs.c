/* SPDX-License-Identifier: MIT */
/* What is said of two things after many looks is as often wrong as it may be, whatever the noise:
 * two that are the same differ in less than 5 % of comparisons, and the interval of the last look
 * has the truth in 95 %. */
#define _GNU_SOURCE
#include "harness/pairs.h"
#include "../check.h"
#include "../scarce_memory.h"
#include "noise.h"

enum { COMPARISONS = 200 };

/* The time of a run on a busy machine that gets slower. */
static double run_of(struct spex_random *random, double truth, size_t pair) {
    return noisy(random, truth) * (1 + 0.001 * (double)pair);
}

/* Compares two of which b takes `ratio` times as long, until it is over or after `most` pairs. */
static struct spex_pairs compare(struct spex_random *random, double ratio, size_t most) {
    struct spex_pairs pairs = {.logs = NULL};
    while (!pairs.over && pairs.count < most) {
        double a = run_of(random, 1, pairs.count), b = run_of(random, ratio, pairs.count);
        assert_int_equal(spex_pairs_add(&pairs, log(b / a)), 0);
    }
    assert_int_equal(spex_pairs_end(&pairs), 0);
    return pairs;
}

/* How many of the comparisons say each outcome, and in how many the interval has the truth. */
struct said {
    unsigned outcomes[SPEX_PAIRS_SAME + 1], right;
    size_t pairs;
};

static struct said said_of(double ratio, size_t most) {
    struct said said = {.right = 0};
    struct spex_random random;
    spex_random_seed(&random, 46, 0);
    for (int c = 0; c < COMPARISONS; c++) {
        struct spex_pairs pairs = compare(&random, ratio, most);
        said.outcomes[pairs.outcome]++;
        said.pairs += pairs.count;
        said.right += pairs.log_ratio.low <= log(ratio) && log(ratio) <= pairs.log_ratio.high;
        spex_pairs_free(&pairs);
    }
    return said;
}

/* Whatever the time that there is: also such as end between two looks. */
TEST(test_the_same_seldom_differ) {
    static const size_t most[] = {10, 15, 40, 100, SPEX_PAIRS_MOST};
    for (size_t m = 0; m < sizeof(most) / sizeof(most[0]); m++) {
        struct said said = said_of(1, most[m]);
        if (said.outcomes[SPEX_PAIRS_DIFFER] >= COMPARISONS / 20)
            fail_msg("%u of %d differ after %zu pairs", said.outcomes[SPEX_PAIRS_DIFFER],
                     COMPARISONS, most[m]);
        assert_true(said.right >= COMPARISONS * 95 / 100);
        /* With all pairs that are looked at they are told to be the same. */
        if (most[m] == SPEX_PAIRS_MOST)
            assert_true(said.outcomes[SPEX_PAIRS_SAME] >= COMPARISONS * 95 / 100);
    }
}

/* A difference is found, the sooner the greater it is, and its interval has it. */
TEST(test_differences_are_found) {
    static const double ratios[] = {1.05, 0.95, 1.23, 0.5};
    size_t before = SIZE_MAX;
    for (size_t r = 0; r < sizeof(ratios) / sizeof(ratios[0]); r++) {
        struct said said = said_of(ratios[r], SPEX_PAIRS_MOST);
        assert_true(said.outcomes[SPEX_PAIRS_DIFFER] >= COMPARISONS * 95 / 100);
        assert_true(said.right >= COMPARISONS * 95 / 100);
        if (r)
            assert_true(said.pairs <= before);
        before = said.pairs + said.pairs / 10;
    }
}

/* What is measured without noise is known at the first look. */
TEST(test_exact_figures) {
    static const struct {
        double log_ratio;
        enum spex_pairs_outcome outcome;
    } cases[] = {{0, SPEX_PAIRS_SAME}, {0.5, SPEX_PAIRS_DIFFER}, {-0.02, SPEX_PAIRS_DIFFER}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct spex_pairs pairs = {.logs = NULL};
        while (!pairs.over)
            assert_int_equal(spex_pairs_add(&pairs, cases[c].log_ratio), 0);
        assert_int_equal(pairs.count, SPEX_PAIRS_FIRST);
        assert_int_equal(pairs.outcome, cases[c].outcome);
        assert_true(pairs.log_ratio.low == cases[c].log_ratio);
        assert_true(pairs.log_ratio.high == cases[c].log_ratio);
        spex_pairs_free(&pairs);
    }
}

TEST(test_few_pairs_say_nothing) {
    struct spex_pairs pairs = {.logs = NULL};
    assert_int_equal(spex_pairs_end(&pairs), 0);
    for (int p = 0; p < 8; p++)
        assert_int_equal(spex_pairs_add(&pairs, 1), 0);
    assert_int_equal(spex_pairs_end(&pairs), 0);
    assert_int_equal(pairs.outcome, SPEX_PAIRS_UNKNOWN);
    assert_true(pairs.log_ratio.value == 1 && isinf(pairs.log_ratio.low));
    assert_false(pairs.over);
    spex_pairs_free(&pairs);
}

/* Whichever allocation fails, nothing is left. */
TEST(test_memory) {
    int err = -ENOMEM;
    for (unsigned long n = 1; err; n++) {
        struct spex_pairs pairs = {.logs = NULL};
        err = 0;
        scarce_left = n;
        for (int p = 0; p < SPEX_PAIRS_FIRST && !err; p++)
            err = spex_pairs_add(&pairs, p);
        assert_true(err == (scarce_left ? 0 : -ENOMEM));
        scarce_left = 0;
        spex_pairs_free(&pairs);
        assert_int_equal(scarce_held.count, 0);
    }
}

/* The interval of the median has it in 95 % of samples, of a distribution that is not symmetric. */
TEST(test_medians) {
    const double few[] = {3, 1, 2, 5, 4, 6};
    double values[101];
    struct spex_random random;
    unsigned right = 0;
    spex_random_seed(&random, 7, 0);
    for (int sample = 0; sample < 1000; sample++) {
        for (size_t i = 0; i < 101; i++)
            values[i] = -log(1 - uniform(&random));
        struct spex_estimate median = spex_median_estimate(values, 101);
        right += median.low <= log(2) && log(2) <= median.high;
        assert_true(median.low <= median.value && median.value <= median.high);
    }
    assert_in_range(right, 940, 975);
    for (size_t i = 0; i < 6; i++)
        values[i] = few[i];
    struct spex_estimate median = spex_median_estimate(values, 6);
    assert_true(median.value == 3.5 && median.low == 1 && median.high == 6);
    median = spex_median_estimate(values, 5);
    assert_true(median.value == 3 && isinf(median.low) && isinf(median.high));
}
