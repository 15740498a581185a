/* SPDX-License-Identifier: MIT */
/* Gaps against the geometric law. Seeds are fixed, so what passes once always does. Every statistic
 * is shown to refuse laws that are slightly wrong. */
#include <math.h>

#include "geometric_law.h"
#include "probe/gap.h"
#include "site/sampling_rate.h"

/* One per cent too long a period is to be seen. */
#define DRAWS 1000000u

typedef uint32_t draw(struct spex_random *random, double period);

static double scale_of(double period) {
    return -1 / log1p(-1 / period);
}

static uint32_t right(struct spex_random *random, double period) {
    return spex_gap_geometric(random, spex_sampling_gap_scale((uint32_t)period));
}

static struct verdict verdict_of_draws(draw *law, double period, uint64_t seed) {
    struct spex_random random;
    spex_random_seed(&random, seed, 0);
    sample_begin(period);
    for (uint32_t i = 0; i < DRAWS; i++) {
        uint32_t gap = law(&random, period);
        assert_in_range(gap, 1, SPEX_GAP_MAX);
        sample_add(gap);
    }
    return sample_verdict();
}

TEST(gaps_are_geometric) {
    static const double periods[] = {2, 3, 10, 100, 1000, 10000, 100000};
    for (size_t p = 0; p < COUNT_OF(periods); p++) {
        struct verdict v = verdict_of_draws(right, periods[p], p);
        verdict_print(periods[p], v);
        assert_true(verdict_good(v));
    }
}

TEST(one_of_so_many_gaps_is_short) {
    static const uint32_t periods[] = {2, 3, 10, 1000, SPEX_GAP_PERIOD_MAX};
    for (size_t p = 0; p < COUNT_OF(periods); p++)
        for (uint32_t executions = 1; executions < 1u << 24; executions += executions / 2 + 1) {
            double law = -expm1(executions * log1p(-1 / (double)periods[p]));
            double told = spex_gap_one_within(spex_sampling_gap_scale(periods[p]), executions);
            assert_true(fabs(told * law - 1) < 1e-3);
        }
    /* The series is for up to eight times the scale. */
    assert_true(spex_gap_one_within(1, 8) > 1 && spex_gap_one_within(1, 9) == 1);
}

/* Wrong laws. */

static uint32_t one_per_cent_longer(struct spex_random *random, double period) {
    return spex_gap_geometric(random, scale_of(period * 1.01));
}

static uint32_t one_per_cent_shorter(struct spex_random *random, double period) {
    return spex_gap_geometric(random, scale_of(period / 1.01));
}

static uint32_t rounded(struct spex_random *random, double period) {
    double before = spex_gap_exponential(spex_random_next(random)) * scale_of(period);
    return 1 + (uint32_t)(before + 0.5);
}

static uint32_t clipped(struct spex_random *random, double period) {
    uint32_t gap = right(random, period);
    return gap < 5 * period ? gap : (uint32_t)(5 * period);
}

static uint32_t clipped_late(struct spex_random *random, double period) {
    uint32_t gap = right(random, period);
    return gap < 9 * period ? gap : (uint32_t)(9 * period);
}

static uint32_t always_periodic(struct spex_random *random, double period) {
    (void)random;
    return (uint32_t)period;
}

/* Of the right mean, as gaps often are: evenly distributed. */
static uint32_t even(struct spex_random *random, double period) {
    return spex_gap_even(random, 1, 2 * (uint32_t)period - 1);
}

TEST(wrong_laws_are_refused) {
    static const struct {
        draw *law;
        double period;
        bool distance, mean; /* which see it; chi-square always does */
    } wrong[] = {
        {one_per_cent_longer, 10, true, true},
        {one_per_cent_longer, 100000, true, true},
        {one_per_cent_shorter, 10, true, true},
        {one_per_cent_shorter, 100000, true, true},
        {rounded, 10, true, true},
        {rounded, 100, true, true},
        {clipped, 10, true, true},
        {clipped, 1000, true, true},
        {clipped_late, 1000, false, false},
        {always_periodic, 2, true, false},
        {always_periodic, 1000, true, false},
        {even, 1000, true, false},
    };
    for (size_t w = 0; w < COUNT_OF(wrong); w++) {
        struct verdict v = verdict_of_draws(wrong[w].law, wrong[w].period, 100 + w);
        verdict_print(wrong[w].period, v);
        assert_true(v.chi_square > 1);
        assert_true(!wrong[w].distance || (v.steps > 1 && v.smooth > 1));
        assert_true(!wrong[w].mean || v.mean > 1);
    }
}

/* A chosen state from which the next bits are these. */
static struct spex_random about_to_give(uint64_t bits) {
    return (struct spex_random){{0, spex_rotate_left(bits, 47)}};
}

TEST(the_logarithm_is_that_of_the_c_library) {
    uint64_t seed = 7;
    long double worst = 0;
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t bits = random_next(&seed) >> i % 64;
        bits = i % 3 ? bits : ~bits;
        long double exact = -logl(ldexpl((long double)(bits | 1), -64));
        /* The bits beyond a double's, and its own rounding. */
        long double error = fabsl((long double)spex_gap_exponential(bits) - exact) - 0x1p-53L;
        worst = fmaxl(worst, error / exact);
    }
    print_message("relative error %.2Lg\n", worst);
    assert_true(worst < 1e-14L);
}

TEST(the_scale_is_that_of_the_law) {
    for (uint32_t period = 2; period <= SPEX_GAP_PERIOD_MAX; period += period / 2) {
        long double exact = -1 / log1pl(-1 / (long double)period);
        assert_true(fabsl(spex_sampling_gap_scale(period) - exact) < exact * 1e-15L);
    }
}

TEST(gaps_keep_to_their_bounds) {
    struct spex_random random = about_to_give(UINT64_MAX);
    double scale = spex_sampling_gap_scale(1000),
           longest = spex_sampling_gap_scale(SPEX_GAP_PERIOD_MAX);
    assert_int_equal(spex_random_next(&random), UINT64_MAX);
    random = about_to_give(UINT64_MAX);
    assert_int_equal(spex_gap_geometric(&random, longest), 1);
    random = about_to_give(1);
    assert_int_equal(spex_gap_geometric(&random, scale), 1 + (uint32_t)(64 * log(2) * scale));
    random = about_to_give(1);
    assert_int_equal(spex_gap_geometric(&random, longest), SPEX_GAP_MAX);
    random = about_to_give(1);
    assert_int_equal(spex_gap_geometric(&random, HUGE_VAL), SPEX_GAP_MAX);
    /* The last that is not cut. */
    random = about_to_give(1);
    double e = spex_gap_exponential(1);
    assert_int_equal(spex_gap_geometric(&random, (SPEX_GAP_MAX - 1.5) / e), SPEX_GAP_MAX - 1);
}

/* Values of the published generators. */
TEST(generators_are_the_published_ones) {
    static const uint64_t xoroshiro[] = {393217, 669327710093319, 1732421326133921491,
                                         11394790081659126983u, 9555452776773192676u};
    const uint64_t first_of_seed_0 = 0xe220a8397b1dcdaf;
    struct spex_random random = {{1, 2}};
    for (size_t i = 0; i < COUNT_OF(xoroshiro); i++)
        assert_int_equal(spex_random_next(&random), xoroshiro[i]);
    spex_random_seed(&random, 0, 1234567 - first_of_seed_0);
    assert_int_equal(random.state[0], 6457827717110365317);
    assert_int_equal(random.state[1], 3203168211198807973);
    /* A counter that splitmix64 gives 0 for. */
    spex_random_seed(&random, 0, -0x9e3779b97f4a7c15u - first_of_seed_0);
    assert_int_equal(random.state[0], 0);
    assert_int_not_equal(random.state[1], 0);
}

TEST(seeds_and_streams_differ) {
    struct spex_random a, b, c, d;
    spex_random_seed(&a, 1, 2);
    spex_random_seed(&b, 1, 2);
    spex_random_seed(&c, 2, 1);
    spex_random_seed(&d, 1, 3);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_memory_not_equal(&a, &c, sizeof(a));
    assert_memory_not_equal(&a, &d, sizeof(a));
}

/* Independence. */

#define PAIRS 200000u
#define LAGS  8u

static uint32_t gaps[2][PAIRS + LAGS];

static void fill(uint32_t *to, double period, uint64_t seed, uint64_t stream) {
    struct spex_random random;
    spex_random_seed(&random, seed, stream);
    for (uint32_t i = 0; i < PAIRS + LAGS; i++)
        to[i] = right(&random, period);
}

TEST(streams_are_independent) {
    static const struct {
        uint64_t seed, stream;
    } others[] = {{1, 1}, {1, 2}, {1, 1ull << 32},    {1, 1ull << 63},
                  {0, 0}, {2, 0}, {1ull << 63 | 1, 0}};
    fill(gaps[0], 1000, 1, 0);
    for (size_t o = 0; o < COUNT_OF(others); o++) {
        fill(gaps[1], 1000, others[o].seed, others[o].stream);
        for (unsigned lag = 0; lag < LAGS; lag++) {
            assert_true(dependence(gaps[0], gaps[1] + lag, PAIRS, 1000) < 1);
            assert_true(dependence(gaps[0] + lag, gaps[1], PAIRS, 1000) < 1);
        }
    }
    assert_true(dependence(gaps[0], gaps[0], PAIRS, 1000) > 1);
}

/* Above 1: gaps are correlated with those `lag` before. */
static double correlation(const uint32_t *of, unsigned lag, double period) {
    double sum = 0;
    for (uint32_t i = 0; i < PAIRS; i++)
        sum += (of[i] - period) * (of[i + lag] - period);
    return fabs(sum) / (period * (period - 1)) / sqrt(PAIRS) / NORMAL_TWO_SIDED;
}

TEST(gaps_are_independent_of_those_before) {
    for (double period = 100; period <= 1000; period *= 10) {
        fill(gaps[0], period, 3, 0);
        for (unsigned lag = 1; lag <= LAGS; lag++) {
            assert_true(correlation(gaps[0], lag, period) < 1);
            assert_true(period < 1000 || dependence(gaps[0], gaps[0] + lag, PAIRS, period) < 1);
        }
    }
}

/* Each gap is of the law, but one in fifty is the one before. */
TEST(a_repeated_gap_is_noticed) {
    fill(gaps[0], 1000, 4, 0);
    for (uint32_t i = 49; i < PAIRS; i += 50)
        gaps[0][i + 1] = gaps[0][i];
    assert_true(correlation(gaps[0], 1, 1000) > 1);
    assert_true(dependence(gaps[0], gaps[0] + 1, PAIRS, 1000) > 1);
}

/* Even distribution, over 16 equal parts of what may come. */

typedef uint32_t draw_even(struct spex_random *random, uint32_t from, uint32_t to);

static uint32_t by_remainder(struct spex_random *random, uint32_t from, uint32_t to) {
    return from + (uint32_t)(spex_random_next(random) >> 32) % (to - from + 1);
}

static double unevenness(draw_even *law, uint32_t from, uint32_t to) {
    const uint64_t values = (uint64_t)to - from + 1;
    const unsigned parts = values < 16 ? (unsigned)values : 16;
    uint32_t counts[16] = {0};
    double sum = 0;
    struct spex_random random;
    spex_random_seed(&random, from, to);
    for (uint32_t i = 0; i < PAIRS; i++) {
        uint32_t value = law(&random, from, to);
        assert_in_range(value, from, to);
        counts[(uint64_t)(value - from) * parts / values]++;
    }
    for (unsigned p = 0; p < parts; p++)
        sum += chi_square_term(counts[p], (double)PAIRS / parts);
    return sum / chi_square_limit(parts - 1, NORMAL_ONE_SIDED);
}

TEST(even_gaps_are_even) {
    struct spex_random random = about_to_give(UINT64_MAX);
    assert_true(unevenness(spex_gap_even, 1, 2) < 1);
    assert_true(unevenness(spex_gap_even, 3, 12) < 1);
    assert_true(unevenness(spex_gap_even, 501, 1500) < 1);
    assert_true(unevenness(spex_gap_even, 1, 1 << 20) < 1);
    assert_true(unevenness(spex_gap_even, 0, (3u << 30) - 1) < 1);
    assert_true(unevenness(spex_gap_even, 0, UINT32_MAX) < 1);
    assert_true(unevenness(by_remainder, 0, (3u << 30) - 1) > 1);
    assert_int_equal(spex_gap_even(&random, 5, 5), 5);
    random = about_to_give(UINT64_MAX);
    assert_int_equal(spex_gap_even(&random, 0, UINT32_MAX), UINT32_MAX);
    /* (1 + 3/8) 3/4: the lower bits count. */
    random = about_to_give(0x160000000);
    assert_int_equal(spex_gap_even(&random, 0, (3u << 30) - 1), 1);
    random = about_to_give(1);
    assert_int_equal(spex_gap_even(&random, 7, UINT32_MAX), 7);
}
