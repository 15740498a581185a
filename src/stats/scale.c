/* SPDX-License-Identifier: MIT */
/* The buckets of WHOLE and REAL lie on both sides of that of 0. From there outwards: one for all
 * numbers below the least power of two; then sixteen a power, by the exponent of the double and the
 * four bits below its leading one; and one for all numbers that are too great for these. */
#include "stats/scale.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "stats/histogram.h"

/* Powers of two, the bits of a double below those that a bucket is chosen by, and its bias. */
enum { LEAST = -53, MOST = 64, SUBS = 16, BELOW = 48, BIAS = 1023 };

/* Distances from the bucket of 0. */
enum {
    ZERO = SPEX_HISTOGRAM_BUCKETS / 2,
    TINY = 1,
    FIRST,
    HUGE_ONES = FIRST + (MOST - LEAST) * SUBS
};

_Static_assert(HUGE_ONES < ZERO, "there is a bucket for each number");

/* The key of a magnitude: what of its bits chooses a bucket. */
static uint64_t key_of(double magnitude) {
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof(bits));
    return bits >> BELOW;
}

static double least_of(uint64_t key) {
    uint64_t bits = key << BELOW;
    double magnitude;
    memcpy(&magnitude, &bits, sizeof(magnitude));
    return magnitude;
}

static const uint64_t first_key = (uint64_t)(BIAS + LEAST) * SUBS;

static unsigned distance_of(double magnitude) {
    if (magnitude < 0x1p-53)
        return magnitude > 0 ? TINY : 0;
    return magnitude < 0x1p64 ? FIRST + (unsigned)(key_of(magnitude) - first_key) : HUGE_ONES;
}

enum spex_value_scale spex_value_scale_of(double value) {
    if (floor(value) < value)
        return SPEX_SCALE_REAL;
    return value >= 0 && value <= 0x1p64 ? SPEX_SCALE_NATURAL : SPEX_SCALE_WHOLE;
}

/* The number as NATURAL has it, or the nearest of its outermost ones. No double is nearer to the
 * greatest integers than 2^64. */
static uint64_t natural_of(double value) {
    return value < 0x1p64 ? (uint64_t)fmax(value, 0) : UINT64_MAX;
}

unsigned spex_value_scale_bucket(unsigned scale, double value) {
    if (scale == SPEX_SCALE_NATURAL)
        return spex_histogram_bucket(natural_of(value));
    return value < 0 ? ZERO - distance_of(-value) : ZERO + distance_of(value);
}

/* The bounds of magnitudes. */
static void distance_bounds(unsigned scale, unsigned distance, double *low, double *high) {
    bool whole = scale == SPEX_SCALE_WHOLE;
    if (distance <= TINY || distance >= HUGE_ONES) {
        *low = distance >= HUGE_ONES ? 0x1p64 : 0;
        *high = distance >= HUGE_ONES ? INFINITY : distance == TINY ? 0x1p-53 : 0;
        return;
    }
    *low = least_of(first_key + distance - FIRST);
    *high = least_of(first_key + distance - FIRST + 1);
    if (whole && *low >= 1) {
        *low = ceil(*low);
        *high = ceil(*high) - 1;
    }
}

void spex_value_scale_bounds(unsigned scale, unsigned bucket, double *low, double *high) {
    double from, to;
    if (scale == SPEX_SCALE_NATURAL) {
        spex_histogram_bounds(bucket, low, high);
        return;
    }
    distance_bounds(scale, bucket < ZERO ? ZERO - bucket : bucket - ZERO, &from, &to);
    *low = bucket < ZERO ? -to : from;
    *high = bucket < ZERO ? -from : to;
}

double spex_value_scale_value(unsigned scale, unsigned bucket) {
    double low, high;
    unsigned distance = bucket < ZERO ? ZERO - bucket : bucket - ZERO;
    if (scale != SPEX_SCALE_NATURAL && (distance == TINY || distance >= HUGE_ONES))
        return NAN;
    spex_value_scale_bounds(scale, bucket, &low, &high);
    return low + (high - low) / 2;
}

/* The greatest bucket of NATURAL ends at 2^64. */
unsigned spex_value_scale_bucket_from(unsigned scale, unsigned from, unsigned bucket) {
    if (from != SPEX_SCALE_NATURAL || scale == SPEX_SCALE_NATURAL)
        return bucket;
    double low, high;
    spex_histogram_bounds(bucket, &low, &high);
    return spex_value_scale_bucket(scale, low);
}
