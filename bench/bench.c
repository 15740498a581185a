/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <spex/spex.h>

static int ascending(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* The ranks n/2 ± 0.98 √n hold the median with 95 % confidence (normal approximation of the
 * binomial distribution with p = 1/2). */
struct bench_result bench_median(double *values, size_t count) {
    qsort(values, count, sizeof(*values), ascending);
    double half = 0.98 * sqrt((double)count);
    double low = floor((double)(count - 1) / 2 - half);
    double high = ceil((double)(count - 1) / 2 + half);
    return (struct bench_result){
        .median = (values[(count - 1) / 2] + values[count / 2]) / 2,
        .low = values[low > 0 ? (size_t)low : 0],
        .high = values[high < (double)(count - 1) ? (size_t)high : count - 1],
    };
}

static double time_case(const struct bench_case *bench_case) {
    spex_set(bench_case->probes);
    return (double)bench_case->run(bench_case->repetitions) / (double)bench_case->repetitions;
}

int bench_run(const struct bench_case *cases, size_t count, size_t rounds,
              struct bench_result *results) {
    double *values = calloc(count * rounds, sizeof(*values));
    if (!values)
        return -ENOMEM;
    for (size_t c = 0; c < count; c++)
        time_case(&cases[c]);
    for (size_t r = 0; r < rounds; r++) {
        double baseline = 0;
        for (size_t c = 0; c < count; c++) {
            double ticks = time_case(&cases[c]);
            values[c * rounds + r] = ticks - baseline;
            if (c == 0)
                baseline = ticks;
        }
    }
    for (size_t c = 0; c < count; c++)
        results[c] = bench_median(&values[c * rounds], rounds);
    free(values);
    return 0;
}
