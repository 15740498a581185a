/* SPDX-License-Identifier: MIT */
/* Gaps against the geometric law. Seeds are fixed, so what passes once always does. Every statistic is
 * held against the value that a right law passes with probability 10^-4, and each is shown to refuse laws
 * that are slightly wrong. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../check.h"
#include "gap.h"

#define NORMAL_ONE_SIDED 3.7190 /* of probability 10^-4 */
#define NORMAL_TWO_SIDED 3.8906
#define NORMAL_OF_PAIRS  4.7534 /* of 10^-6: there are a hundred of them */
#define KOLMOGOROV       2.2255 /* sqrt(ln(2 / 10^-4) / 2) */
#define LEAST_EXPECTED   10     /* in a bin of a chi-square test */

/* One per cent too long a period is to be seen. */
#define DRAWS 1000000u

/* Of a million gaps of the longest period here none is as long, but for one sample in a thousand. */
#define COUNTED (1u << 21)

static struct {
    double period;
    double mean;
    uint32_t counts[COUNTED + 1]; /* of a gap; the last: of all longer ones too */
} sample;

typedef uint32_t draw(struct spex_random *random, double period);

static double scale_of(double period) {
    return -1 / log1p(-1 / period);
}

static uint32_t right(struct spex_random *random, double period) {
    return spex_gap_geometric(random, spex_gap_scale((uint32_t)period));
}

static void take(draw *law, double period, uint64_t seed) {
    struct spex_random random;
    double sum = 0;
    memset(sample.counts, 0, sizeof(sample.counts));
    spex_random_seed(&random, seed, 0);
    for (uint32_t i = 0; i < DRAWS; i++) {
        uint32_t gap = law(&random, period);
        assert_in_range(gap, 1, SPEX_GAP_MAX);
        sample.counts[gap < COUNTED ? gap : COUNTED]++;
        sum += gap;
    }
    sample.period = period;
    sample.mean = sum / DRAWS;
}

/* Each statistic is scaled so that above 1 it refuses the law. */

/* Chi-square's critical value by Wilson and Hilferty's cube root. */
static double chi_square_limit(unsigned freedom, double normal) {
    double v = 2 / (9.0 * freedom);
    return freedom * pow(1 - v + normal * sqrt(v), 3);
}

static double chi_square_term(double got, double expected) {
    return (got - expected) * (got - expected) / expected;
}

/* In bins of 2 %, and of half of what is left where that is less: the tail is looked at closely. */
static double chi_square(void) {
    double tail = 1, above = 1, got = 0, left = DRAWS, sum = 0;
    unsigned bins = 1;
    for (uint32_t gap = 1; tail * DRAWS >= 2 * LEAST_EXPECTED; gap++) {
        tail *= 1 - 1 / sample.period;
        got += sample.counts[gap];
        if ((above - tail < 0.02 && above - tail < above / 2) || tail * DRAWS < LEAST_EXPECTED)
            continue;
        sum += chi_square_term(got, (above - tail) * DRAWS);
        left -= got;
        above = tail;
        got = 0;
        bins++;
    }
    return (sum + chi_square_term(left, above * DRAWS)) /
           chi_square_limit(bins - 1, NORMAL_ONE_SIDED);
}

/* The greatest distance of the two distribution functions at whole numbers: the value that a continuous law
 * would pass with probability 10^-4 is passed less often. */
static double kolmogorov_smirnov(void) {
    double tail = 1, longer = DRAWS, distance = 0;
    for (uint32_t gap = 1; gap < COUNTED && (longer > 0 || tail * DRAWS > 1); gap++) {
        tail *= 1 - 1 / sample.period;
        longer -= sample.counts[gap];
        distance = fmax(distance, fabs(tail - longer / DRAWS));
    }
    return distance * sqrt(DRAWS) / KOLMOGOROV;
}

/* The same of a law without steps: each gap k at F(k - 1) + V p(k), V random, which are evenly distributed
 * from 0 to 1. Compared at 2^16 places, between which they differ by no more than 0.016 in sqrt(DRAWS). */
static double randomised_kolmogorov_smirnov(void) {
    static uint32_t places[1 << 16];
    uint64_t state = 1;
    double tail = 1, below = 0, distance = 0;
    memset(places, 0, sizeof(places));
    for (uint32_t gap = 1; gap <= COUNTED; gap++) {
        double least = 1 - tail;
        for (uint32_t n = 0; n < sample.counts[gap]; n++) {
            double v = (double)(random_next(&state) >> 11) * 0x1p-53;
            places[(unsigned)((least + v * tail / sample.period) * COUNT_OF(places))]++;
        }
        tail *= 1 - 1 / sample.period;
    }
    for (size_t place = 0; place < COUNT_OF(places); place++) {
        below += places[place];
        distance = fmax(distance, fabs(below / DRAWS - (double)(place + 1) / COUNT_OF(places)));
    }
    return distance * sqrt(DRAWS) / KOLMOGOROV;
}

static double mean(void) {
    double deviation = sqrt(sample.period * (sample.period - 1) / DRAWS);
    return fabs(sample.mean - sample.period) / deviation / NORMAL_TWO_SIDED;
}

struct verdict {
    double chi_square, steps, smooth, mean;
};

static struct verdict judge(draw *law, double period, uint64_t seed) {
    take(law, period, seed);
    return (struct verdict){chi_square(), kolmogorov_smirnov(), randomised_kolmogorov_smirnov(),
                            mean()};
}

static void print(double period, struct verdict v) {
    print_message(
        "period %g: chi-square %.3g, Kolmogorov-Smirnov %.3g, randomised %.3g, mean %.3g\n", period,
        v.chi_square, v.steps, v.smooth, v.mean);
}

static void gaps_are_geometric(void **state) {
    static const double periods[] = {2, 3, 10, 100, 1000, 10000, 100000};
    (void)state;
    for (size_t p = 0; p < COUNT_OF(periods); p++) {
        struct verdict v = judge(right, periods[p], p);
        print(periods[p], v);
        assert_true(v.chi_square < 1 && v.steps < 1 && v.smooth < 1 && v.mean < 1);
    }
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

static void wrong_laws_are_refused(void **state) {
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
    (void)state;
    for (size_t w = 0; w < COUNT_OF(wrong); w++) {
        struct verdict v = judge(wrong[w].law, wrong[w].period, 100 + w);
        print(wrong[w].period, v);
        assert_true(v.chi_square > 1);
        assert_true(!wrong[w].distance || (v.steps > 1 && v.smooth > 1));
        assert_true(!wrong[w].mean || v.mean > 1);
    }
}

/* A chosen state from which the next bits are these. */
static struct spex_random about_to_give(uint64_t bits) {
    return (struct spex_random){{0, spex_rotate_left(bits, 47)}};
}

static void the_logarithm_is_that_of_the_c_library(void **state) {
    uint64_t seed = 7;
    long double worst = 0;
    (void)state;
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

static void the_scale_is_that_of_the_law(void **state) {
    (void)state;
    for (uint32_t period = 2; period <= SPEX_GAP_PERIOD_MAX; period += period / 2) {
        long double exact = -1 / log1pl(-1 / (long double)period);
        assert_true(fabsl(spex_gap_scale(period) - exact) < exact * 1e-15L);
    }
}

static void gaps_keep_to_their_bounds(void **state) {
    struct spex_random random = about_to_give(UINT64_MAX);
    double scale = spex_gap_scale(1000), longest = spex_gap_scale(SPEX_GAP_PERIOD_MAX);
    (void)state;
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
static void generators_are_the_published_ones(void **state) {
    static const uint64_t xoroshiro[] = {393217, 669327710093319, 1732421326133921491,
                                         11394790081659126983u, 9555452776773192676u};
    const uint64_t first_of_seed_0 = 0xe220a8397b1dcdaf;
    struct spex_random random = {{1, 2}};
    (void)state;
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

static void seeds_and_streams_differ(void **state) {
    struct spex_random a, b, c, d;
    (void)state;
    spex_random_seed(&a, 1, 2);
    spex_random_seed(&b, 1, 2);
    spex_random_seed(&c, 2, 1);
    spex_random_seed(&d, 1, 3);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_memory_not_equal(&a, &c, sizeof(a));
    assert_memory_not_equal(&a, &d, sizeof(a));
}

/* Independence. */

#define QUANTILES 16
#define PAIRS     200000u
#define LAGS      8u

static uint32_t gaps[2][PAIRS + LAGS];

/* Which part of the law, of QUANTILES about equal ones, a gap belongs to. */
static unsigned quantile_of(uint32_t gap, double period) {
    return (unsigned)fmin((1 - pow(1 - 1 / period, gap - 1)) * QUANTILES, QUANTILES - 1);
}

/* Above 1: the gaps of `b` are not independent of those of `a`. Whether each is of the law does not come in:
 * what is expected is the product of what either has. */
static double dependence(const uint32_t *a, const uint32_t *b, double period) {
    static uint8_t quantiles[1 << 16];
    double counts[QUANTILES][QUANTILES] = {{0}}, rows[QUANTILES] = {0}, columns[QUANTILES] = {0};
    double sum = 0;
    for (uint32_t gap = 1; gap < COUNT_OF(quantiles); gap++)
        quantiles[gap] = (uint8_t)quantile_of(gap, period);
    for (uint32_t i = 0; i < PAIRS; i++) {
        counts[quantiles[a[i]]][quantiles[b[i]]]++;
        rows[quantiles[a[i]]]++;
        columns[quantiles[b[i]]]++;
    }
    for (unsigned i = 0; i < QUANTILES; i++)
        for (unsigned j = 0; j < QUANTILES; j++)
            sum += chi_square_term(counts[i][j], rows[i] * columns[j] / PAIRS);
    return sum / chi_square_limit((QUANTILES - 1) * (QUANTILES - 1), NORMAL_OF_PAIRS);
}

static void fill(uint32_t *to, double period, uint64_t seed, uint64_t stream) {
    struct spex_random random;
    spex_random_seed(&random, seed, stream);
    for (uint32_t i = 0; i < PAIRS + LAGS; i++)
        to[i] = right(&random, period);
}

static void streams_are_independent(void **state) {
    static const struct {
        uint64_t seed, stream;
    } others[] = {{1, 1}, {1, 2}, {1, 1ull << 32},    {1, 1ull << 63},
                  {0, 0}, {2, 0}, {1ull << 63 | 1, 0}};
    (void)state;
    fill(gaps[0], 1000, 1, 0);
    for (size_t o = 0; o < COUNT_OF(others); o++) {
        fill(gaps[1], 1000, others[o].seed, others[o].stream);
        for (unsigned lag = 0; lag < LAGS; lag++) {
            assert_true(dependence(gaps[0], gaps[1] + lag, 1000) < 1);
            assert_true(dependence(gaps[0] + lag, gaps[1], 1000) < 1);
        }
    }
    assert_true(dependence(gaps[0], gaps[0], 1000) > 1);
}

/* Above 1: gaps are correlated with those `lag` before. */
static double correlation(const uint32_t *of, unsigned lag, double period) {
    double sum = 0;
    for (uint32_t i = 0; i < PAIRS; i++)
        sum += (of[i] - period) * (of[i + lag] - period);
    return fabs(sum) / (period * (period - 1)) / sqrt(PAIRS) / NORMAL_TWO_SIDED;
}

static void gaps_are_independent_of_those_before(void **state) {
    (void)state;
    for (double period = 100; period <= 1000; period *= 10) {
        fill(gaps[0], period, 3, 0);
        for (unsigned lag = 1; lag <= LAGS; lag++) {
            assert_true(correlation(gaps[0], lag, period) < 1);
            assert_true(period < 1000 || dependence(gaps[0], gaps[0] + lag, period) < 1);
        }
    }
}

/* Each gap is of the law, but one in fifty is the one before. */
static void a_repeated_gap_is_noticed(void **state) {
    (void)state;
    fill(gaps[0], 1000, 4, 0);
    for (uint32_t i = 49; i < PAIRS; i += 50)
        gaps[0][i + 1] = gaps[0][i];
    assert_true(correlation(gaps[0], 1, 1000) > 1);
    assert_true(dependence(gaps[0], gaps[0] + 1, 1000) > 1);
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

static void even_gaps_are_even(void **state) {
    struct spex_random random = about_to_give(UINT64_MAX);
    (void)state;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_are_geometric),
        cmocka_unit_test(wrong_laws_are_refused),
        cmocka_unit_test(the_logarithm_is_that_of_the_c_library),
        cmocka_unit_test(the_scale_is_that_of_the_law),
        cmocka_unit_test(gaps_keep_to_their_bounds),
        cmocka_unit_test(generators_are_the_published_ones),
        cmocka_unit_test(seeds_and_streams_differ),
        cmocka_unit_test(streams_are_independent),
        cmocka_unit_test(gaps_are_independent_of_those_before),
        cmocka_unit_test(a_repeated_gap_is_noticed),
        cmocka_unit_test(even_gaps_are_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
