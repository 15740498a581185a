/* SPDX-License-Identifier: MIT */
/* The reference of calm rounds. */
#define _GNU_SOURCE
#include "calm.h"

#include <err.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/ticks.h>

/* A calm round's reference takes at most this many times the fastest. */
#define CALM 1.1

/* So many calm rounds tell a median and its interval. */
enum { CALM_LEAST = 9, REFERENCE_PASSES = 4000 };

/* Independent loads and stores: their number bounds how long a pass takes. */
double bench_reference(void) {
    static volatile uint64_t words[8];
    uint64_t begin = spex_ticks();
    for (int pass = 0; pass < REFERENCE_PASSES; pass++) {
        words[0] = 1;
        (void)words[1];
        words[2] = 1;
        (void)words[3];
        (void)words[4];
    }
    return (double)(spex_ticks() - begin) / REFERENCE_PASSES;
}

bool bench_is_calm(double reference, double fastest) {
    return reference <= CALM * fastest;
}

struct bench_calm_result bench_calm_median(const double *values, const double *references,
                                           size_t count, double fastest) {
    double *kept = malloc(count * sizeof(*kept));
    size_t calm = 0;
    if (!kept)
        err(1, "malloc");
    for (size_t i = 0; i < count; i++)
        if (bench_is_calm(references[i], fastest))
            kept[calm++] = values[i];
    bool busy = calm < CALM_LEAST && calm < count;
    if (busy)
        memcpy(kept, values, count * sizeof(*kept));
    struct bench_result result = bench_median(kept, busy ? count : calm);
    free(kept);
    return (struct bench_calm_result){result.median, result.low, result.high, calm, busy};
}

void bench_print_calm(struct bench_calm_result result) {
    printf(", \"calm\": %zu, \"busy\": %s", result.calm, result.busy ? "true" : "false");
}
