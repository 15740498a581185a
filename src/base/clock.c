/* SPDX-License-Identifier: MIT */
/* Measures the rate of the ticks against CLOCK_MONOTONIC_RAW, which NTP does not adjust. */
#include "base/clock.h"

#include <time.h>

#include <spex/ticks.h>

/* The shortest time between two instants. Reading both clocks takes about 0.1 µs, so the error of
 * the rate is at most 10^-4. */
#define BASELINE_NS 5000000u

uint64_t spex_clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct spex_instant spex_instant_now(void) {
    /* Takes the pair of readings that were closest together: a preemption between the two would
     * make the rate wrong. */
    struct spex_instant best = {0, 0};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < 4; i++) {
        uint64_t before = spex_ticks();
        uint64_t ns = spex_clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t width = spex_ticks() - before;
        if (width < best_width) {
            best_width = width;
            best = (struct spex_instant){before + width / 2, ns};
        }
    }
    return best;
}

double spex_tick_rate(struct spex_instant from, struct spex_instant to) {
    if (to.monotonic_ns < from.monotonic_ns + BASELINE_NS)
        return 0;
    return (double)(to.ticks - from.ticks) * 1e9 / (double)(to.monotonic_ns - from.monotonic_ns);
}

double spex_tick_rate_since(struct spex_instant from) {
    for (;;) {
        double rate = spex_tick_rate(from, spex_instant_now());
        if (rate > 0)
            return rate;
        nanosleep(&(struct timespec){.tv_nsec = BASELINE_NS}, NULL);
    }
}
