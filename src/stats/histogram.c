/* SPDX-License-Identifier: MIT */
/* A bucket's number has the power of two of its values and, as the remainder, the six bits below
 * their leading one. */
#include "stats/histogram.h"

/* The inverse of spex_histogram_bucket(). */
void spex_histogram_bounds(unsigned bucket, double *low, double *high) {
    unsigned shift = bucket < SPEX_HISTOGRAM_SUB ? 0 : bucket / SPEX_HISTOGRAM_SUB - 1;
    uint64_t first =
        bucket < SPEX_HISTOGRAM_SUB ? bucket : bucket % SPEX_HISTOGRAM_SUB + SPEX_HISTOGRAM_SUB;
    *low = (double)(first << shift);
    *high = *low + ((double)(1ull << shift) - 1);
}

double spex_histogram_value(unsigned bucket) {
    double low, high;
    spex_histogram_bounds(bucket, &low, &high);
    return low + (high - low) / 2;
}

/* The first bucket at which the sum of weights reaches q of all; the last one that is not empty,
 * where rounding keeps the sum below that. */
unsigned spex_histogram_quantile_bucket(const struct spex_histogram *histogram, double q) {
    double wanted = q * (double)histogram->total;
    double below = 0;
    unsigned last = 0;
    for (unsigned b = spex_histogram_next(histogram, 0); b < SPEX_HISTOGRAM_BUCKETS;
         b = spex_histogram_next(histogram, b + 1)) {
        last = b;
        below += (double)histogram->weights[b];
        if (below >= wanted)
            break;
    }
    return last;
}

double spex_histogram_quantile(const struct spex_histogram *histogram, double q) {
    return spex_histogram_value(spex_histogram_quantile_bucket(histogram, q));
}
