/* SPDX-License-Identifier: MIT */
/* Gaps against the geometric law, and against each other. Every statistic is scaled so that above 1
 * it refuses the law, which a right one passes with a probability of 10^-4, or 10^-6 where there
 * are a hundred of them. */
#ifndef SPEX_TEST_GEOMETRIC_LAW_H
#define SPEX_TEST_GEOMETRIC_LAW_H

#include <math.h>

#include "../check.h"

#define NORMAL_ONE_SIDED 3.7190 /* of probability 10^-4 */
#define NORMAL_TWO_SIDED 3.8906
#define NORMAL_OF_PAIRS  4.7534 /* of 10^-6: there are a hundred of them */
#define KOLMOGOROV       2.2255 /* sqrt(ln(2 / 10^-4) / 2) */
#define LEAST_EXPECTED   10     /* in a bin of a chi-square test */

#define QUANTILES 16

/* Of a million gaps of a period of 100,000 none is as long, but for one sample in a thousand. */
#define COUNTED (1u << 21)

static struct {
    double period;
    double mean;
    double draws;
    uint32_t counts[COUNTED + 1]; /* of a gap; the last: of all longer ones too */
} sample;

static inline void sample_begin(double period) {
    memset(&sample, 0, sizeof(sample));
    sample.period = period;
}

static inline void sample_add(uint32_t gap) {
    sample.counts[gap < COUNTED ? gap : COUNTED]++;
    sample.draws++;
    sample.mean += (gap - sample.mean) / sample.draws;
}

/* Chi-square's critical value by Wilson and Hilferty's cube root. */
static inline double chi_square_limit(unsigned freedom, double normal) {
    double v = 2 / (9.0 * freedom);
    return freedom * pow(1 - v + normal * sqrt(v), 3);
}

static inline double chi_square_term(double got, double expected) {
    return (got - expected) * (got - expected) / expected;
}

/* In bins of 2 %, and of half of what is left where that is less: the tail is looked at closely. */
static inline double chi_square(void) {
    double tail = 1, above = 1, got = 0, left = sample.draws, sum = 0;
    unsigned bins = 1;
    for (uint32_t gap = 1; tail * sample.draws >= 2 * LEAST_EXPECTED; gap++) {
        tail *= 1 - 1 / sample.period;
        got += sample.counts[gap];
        if ((above - tail < 0.02 && above - tail < above / 2) ||
            tail * sample.draws < LEAST_EXPECTED)
            continue;
        sum += chi_square_term(got, (above - tail) * sample.draws);
        left -= got;
        above = tail;
        got = 0;
        bins++;
    }
    return (sum + chi_square_term(left, above * sample.draws)) /
           chi_square_limit(bins - 1, NORMAL_ONE_SIDED);
}

/* The greatest distance of the two distribution functions at whole numbers: the value that a
 * continuous law would pass with probability 10^-4 is passed less often. */
static inline double kolmogorov_smirnov(void) {
    double tail = 1, longer = sample.draws, distance = 0;
    for (uint32_t gap = 1; gap < COUNTED && (longer > 0 || tail * sample.draws > 1); gap++) {
        tail *= 1 - 1 / sample.period;
        longer -= sample.counts[gap];
        distance = fmax(distance, fabs(tail - longer / sample.draws));
    }
    return distance * sqrt(sample.draws) / KOLMOGOROV;
}

/* The same of a law without steps: each gap k at F(k - 1) + V p(k), V random, which are evenly
 * distributed from 0 to 1. Compared at 2^16 places, between which they differ by no more than 0.016
 * in sqrt(sample.draws). */
static inline double randomised_kolmogorov_smirnov(void) {
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
        distance =
            fmax(distance, fabs(below / sample.draws - (double)(place + 1) / COUNT_OF(places)));
    }
    return distance * sqrt(sample.draws) / KOLMOGOROV;
}

static inline double mean(void) {
    double deviation = sqrt(sample.period * (sample.period - 1) / sample.draws);
    return fabs(sample.mean - sample.period) / deviation / NORMAL_TWO_SIDED;
}

struct verdict {
    double chi_square, steps, smooth, mean;
};

static inline struct verdict sample_verdict(void) {
    return (struct verdict){chi_square(), kolmogorov_smirnov(), randomised_kolmogorov_smirnov(),
                            mean()};
}

static inline void verdict_print(double period, struct verdict v) {
    print_message(
        "period %g: chi-square %.3g, Kolmogorov-Smirnov %.3g, randomised %.3g, mean %.3g\n", period,
        v.chi_square, v.steps, v.smooth, v.mean);
}

static inline bool verdict_good(struct verdict v) {
    return v.chi_square < 1 && v.steps < 1 && v.smooth < 1 && v.mean < 1;
}

/* Which part of the law, of QUANTILES about equal ones, a gap belongs to. */
static inline unsigned quantile_of(uint32_t gap, double period) {
    return (unsigned)fmin((1 - pow(1 - 1 / period, gap - 1)) * QUANTILES, QUANTILES - 1);
}

/* Above 1: the gaps of `b` are not independent of those of `a`. Whether each is of the law does not
 * come in: what is expected is the product of what either has. */
static inline double dependence(const uint32_t *a, const uint32_t *b, uint32_t pairs,
                                double period) {
    static uint8_t quantiles[1 << 16];
    double counts[QUANTILES][QUANTILES] = {{0}}, rows[QUANTILES] = {0}, columns[QUANTILES] = {0};
    double sum = 0;
    for (uint32_t gap = 1; gap < COUNT_OF(quantiles); gap++)
        quantiles[gap] = (uint8_t)quantile_of(gap, period);
    for (uint32_t i = 0; i < pairs; i++) {
        counts[quantiles[a[i]]][quantiles[b[i]]]++;
        rows[quantiles[a[i]]]++;
        columns[quantiles[b[i]]]++;
    }
    for (unsigned i = 0; i < QUANTILES; i++)
        for (unsigned j = 0; j < QUANTILES; j++)
            sum += chi_square_term(counts[i][j], rows[i] * columns[j] / pairs);
    return sum / chi_square_limit((QUANTILES - 1) * (QUANTILES - 1), NORMAL_OF_PAIRS);
}

#endif
