/* SPDX-License-Identifier: MIT */
#include "histogram.h"

double spex_histogram_value(unsigned bucket) {
    if (bucket < SPEX_HISTOGRAM_SUB)
        return bucket;
    unsigned shift = bucket / SPEX_HISTOGRAM_SUB - 1;
    uint64_t low = (uint64_t)(bucket % SPEX_HISTOGRAM_SUB + SPEX_HISTOGRAM_SUB) << shift;
    return (double)low + ((double)(1ull << shift) - 1) / 2;
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
    return spex_histogram_value(last);
}
