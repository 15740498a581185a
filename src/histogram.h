/* SPDX-License-Identifier: MIT */
/* Log-linear histogram of 64-bit values with weights: every bucket is at most 1/64 of its value
 * wide, so a quantile is within 1/128 (0.8 %) of a value that was there. */
#ifndef SPEX_HISTOGRAM_H
#define SPEX_HISTOGRAM_H

#include <stdint.h>

#define SPEX_HISTOGRAM_BUCKETS ((64 - 6 + 1) * 64)

struct spex_histogram {
    uint64_t total;
    uint64_t weights[SPEX_HISTOGRAM_BUCKETS];
};

void spex_histogram_add(struct spex_histogram *histogram, uint64_t value, uint64_t weight);

/* The value below which the share q (0 to 1) of the weight lies; 0 when empty. */
double spex_histogram_quantile(const struct spex_histogram *histogram, double q);

#endif
