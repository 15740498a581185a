/* SPDX-License-Identifier: MIT */
/* Draws random gaps, without calls of the C library. */
#include "probe/gap.h"

#define LN_2 0.693147180559945309417

/* -ln(c) for c = 8/16 to 16/16, that is ln(16/8) to ln(16/16), to 21 digits. */
static const double minus_log[] = {
    0.693147180559945309417, 0.575364144903561854878,  0.470003629245735553651,
    0.374693449441410693607, 0.287682072451780927439,  0.207639364778244500983,
    0.133531392624522623146, 0.0645385211375711716729, 0,
};

/* Writes U as m 2^-zeros, with m from 1/2 to 1. With c, the sixteenth that is nearest to m,
 *
 *   -ln U = zeros ln 2 - ln c - 2 artanh((m - c) / (m + c))
 *
 * The argument of artanh is at most 1/32, and the terms that the series leaves out are below 2^-47.
 * Where U is nearly 1, c is 1 and m - c is exact: the only error is that of the conversion to
 * double, below 2^-53. Small U use all 64 bits, so the tail of the distribution has no steps.
 *
 * A ziggurat would need no division, but some kilobytes of tables. The program's work between two
 * records would evict them from the cache; this table has two cache lines. */
double spex_gap_exponential(uint64_t bits) {
    bits |= 1;
    unsigned zeros = (unsigned)__builtin_clzll(bits);
    bits <<= zeros;
    unsigned sixteenths = (unsigned)((bits >> 59) + 1) / 2;
    double m = (double)(int64_t)(bits >> 11) * 0x1p-53;
    double c = sixteenths * 0.0625;
    double s = (m - c) / (m + c), s2 = s * s;
    double artanh = s + s * s2 * ((1.0 / 3 + s2 * (1.0 / 5)) + s2 * s2 * (1.0 / 7));
    return (zeros * LN_2 + minus_log[sixteenths - 8]) - 2 * artanh;
}

/* With E exponential, floor(E scale) is at least k with probability exp(-k / scale) = (1 - p)^k, as
 * the number of executions before the chosen one is. */
uint32_t spex_gap_geometric(struct spex_random *random, double scale) {
    double before = spex_gap_exponential(spex_random_next(random)) * scale;
    return before < SPEX_GAP_MAX - 1 ? 1 + (uint32_t)before : SPEX_GAP_MAX;
}

/* 1 / (1 - exp(-4y)). The series around 0 is for y, up to 2; what it tells of exp(-y) is squared
 * twice. */
double spex_gap_one_within(double scale, uint32_t executions) {
    double y = executions / scale / 4, y2 = y * y;
    if (y > 2)
        return 1;
    double of_y = 1 / y + 0.5 + y * (1.0 / 12 - y2 * (1.0 / 720 - y2 * (1.0 / 30240)));
    double power = 1 - 1 / of_y;
    power *= power;
    return 1 / (1 - power * power);
}

/* The upper half of the product of 64 random bits and the number of values (Lemire: Fast random
 * integer generation in an interval, ACM TOMACS 29:1, 2019), without the step that rejects. Two
 * products of 32 bits each make the product of 64 bits. */
uint32_t spex_gap_even(struct spex_random *random, uint32_t from, uint32_t to) {
    uint64_t bits = spex_random_next(random);
    uint64_t values = (uint64_t)to - from + 1;
    uint64_t upper = (bits >> 32) * values + ((bits & UINT32_MAX) * values >> 32);
    return from + (uint32_t)(upper >> 32);
}
