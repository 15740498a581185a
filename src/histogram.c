/* SPDX-License-Identifier: MIT */
#include "histogram.h"

/* Values below 64 have a bucket each; above, 64 buckets a power of two. */
#define SUB_BITS 6
#define SUB      (1u << SUB_BITS)

static unsigned bucket_of(uint64_t value) {
    if (value < SUB)
        return (unsigned)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - SUB_BITS;
    return (shift + 1) * SUB + (unsigned)(value >> shift) - SUB;
}

static double bucket_middle(unsigned bucket) {
    if (bucket < SUB)
        return bucket;
    unsigned shift = bucket / SUB - 1;
    uint64_t low = (uint64_t)(bucket % SUB + SUB) << shift;
    return (double)low + ((double)(1ull << shift) - 1) / 2;
}

void spex_histogram_add(struct spex_histogram *histogram, uint64_t value, uint64_t weight) {
    histogram->weights[bucket_of(value)] += weight;
    histogram->total += weight;
}

double spex_histogram_quantile(const struct spex_histogram *histogram, double q) {
    double wanted = q * (double)histogram->total;
    double below = 0;
    unsigned last = 0;
    for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++) {
        if (!histogram->weights[b])
            continue;
        last = b;
        below += (double)histogram->weights[b];
        if (below >= wanted)
            break;
    }
    return bucket_middle(last);
}
