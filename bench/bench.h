/* SPDX-License-Identifier: MIT */
/* Statistics of benches: medians, because what disturbs a run makes it longer, never shorter, and their
 * intervals. */
#ifndef SPEX_BENCH_H
#define SPEX_BENCH_H

#include <stddef.h>

/* A median and the 95 % confidence interval of it. */
struct bench_result {
    double median;
    double low;
    double high;
};

/* Of values[0..count), count at least 1, which is sorted by the call. */
struct bench_result bench_median(double *values, size_t count);

#endif
