/* SPDX-License-Identifier: MIT */
/* Log-linear histogram of 64-bit values with weights: every bucket is at most 1/64 of its value
 * wide, so a quantile is within 1/128 (0.8 %) of a value that was added. Callers lock. */
#ifndef SPEX_STATS_HISTOGRAM_H
#define SPEX_STATS_HISTOGRAM_H

#include <stdint.h>

/* Values below 64 have a bucket each; above, 64 buckets a power of two. */
#define SPEX_HISTOGRAM_SUB_BITS 6
#define SPEX_HISTOGRAM_SUB      (1u << SPEX_HISTOGRAM_SUB_BITS)
#define SPEX_HISTOGRAM_BUCKETS  ((64 - SPEX_HISTOGRAM_SUB_BITS + 1) * SPEX_HISTOGRAM_SUB)

struct spex_histogram {
    /* The sum of `weights`. */
    uint64_t total;
    uint64_t weights[SPEX_HISTOGRAM_BUCKETS];
};

/* The bucket of a value: 0 to SPEX_HISTOGRAM_BUCKETS - 1, growing with the value. */
static inline unsigned spex_histogram_bucket(uint64_t value) {
    if (value < SPEX_HISTOGRAM_SUB)
        return (unsigned)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - SPEX_HISTOGRAM_SUB_BITS;
    return (shift + 1) * SPEX_HISTOGRAM_SUB + (unsigned)(value >> shift) - SPEX_HISTOGRAM_SUB;
}

static inline void spex_histogram_add(struct spex_histogram *histogram, uint64_t value,
                                      uint64_t weight) {
    histogram->weights[spex_histogram_bucket(value)] += weight;
    histogram->total += weight;
}

/* The first bucket from `bucket` on that is not empty; SPEX_HISTOGRAM_BUCKETS: there is none. Most
 * are empty, and are passed in groups. */
static inline unsigned spex_histogram_next(const struct spex_histogram *histogram,
                                           unsigned bucket) {
    enum { GROUP = 8 };
    _Static_assert(SPEX_HISTOGRAM_BUCKETS % GROUP == 0, "the last group is whole");
    while (bucket < SPEX_HISTOGRAM_BUCKETS && !histogram->weights[bucket]) {
        const uint64_t *group = &histogram->weights[bucket - bucket % GROUP];
        uint64_t any = 0;
        for (unsigned b = 0; b < GROUP; b++)
            any |= group[b];
        bucket += any ? 1 : GROUP - bucket % GROUP;
    }
    return bucket;
}

/* Sets the least and the greatest value of a bucket. */
void spex_histogram_bounds(unsigned bucket, double *low, double *high);

/* The middle of a bucket. */
double spex_histogram_value(unsigned bucket);

/* The bucket of the q-quantile (q from 0 to 1). Takes time in proportion to the buckets. */
unsigned spex_histogram_quantile_bucket(const struct spex_histogram *histogram, double q);

/* The q-quantile (q from 0 to 1), as the middle of its bucket; 0 when the histogram is empty. Takes
 * time in proportion to the buckets. */
double spex_histogram_quantile(const struct spex_histogram *histogram, double q);

#endif
