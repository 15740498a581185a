/* SPDX-License-Identifier: MIT */
#include "rate/bound.h"

#include <math.h>

/* Lines that an execution needs one after another: of code, and of counts. */
#define LINES 2

static double latency_after(const struct spex_rate_caches *caches, double seconds) {
    if (seconds < caches->keep[0])
        return 0;
    return seconds < caches->keep[1]   ? caches->latency[0]
           : seconds < caches->keep[2] ? caches->latency[1]
                                       : caches->latency[2];
}

double spex_rate_bound(const struct spex_rate_caches *caches, double skip, double rate) {
    double between = rate > 0 ? 1 / rate : INFINITY;
    double bound =
        skip + LINES * latency_after(caches, between) + caches->window * caches->latency[2];
    return fmin(bound, fmax(between, skip));
}

double spex_rate_likely(const struct spex_rate_caches *caches, double skip, double rate) {
    double between = rate > 0 ? 1 / rate : 0;
    return skip + (between < caches->keep[1] ? 0 : LINES * caches->latency[0]);
}
