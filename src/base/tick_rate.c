/* SPDX-License-Identifier: MIT */
/* Measures the rate of the ticks against CLOCK_MONOTONIC_RAW, which NTP does not adjust. */
#include <time.h>

#include <spex/ticks.h>

#include "base/clock.h"
#include "base/deadline.h"

/* Largest error of a rate. Each of two moments is known to half its width. */
#define RATE_ERROR 1e-4

/* Time between two moments after which their rate is taken, whatever their widths. Reading both
 * clocks takes about 0.1 µs, or was interrupted each time. */
#define BASELINE_NS 5000000u

/* Longest wait for a rate: ten baselines. */
#define RATE_WAIT_NS 50000000u

/* Longest wait for the next time of a clock. That of the coarsest lasts 10 ms. */
#define STEP_WAIT_NS 50000000u

struct spex_instant spex_instant_now(void) {
    /* Takes the pair of readings that were closest together: a preemption between the two would
     * make the rate wrong. */
    struct spex_instant best = {.width = UINT64_MAX};
    for (int i = 0; i < 4; i++) {
        uint64_t before = spex_ticks();
        uint64_t ns = spex_clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t width = spex_ticks() - before;
        if (width < best.width)
            best = (struct spex_instant){before + width / 2, ns, width};
    }
    return best;
}

double spex_tick_rate(struct spex_instant from, struct spex_instant to) {
    if (to.monotonic_ns <= from.monotonic_ns)
        return 0;
    double ticks = (double)(to.ticks - from.ticks);
    double unsure = (double)(from.width + to.width) / 2;
    if (to.monotonic_ns < from.monotonic_ns + BASELINE_NS && unsure > ticks * RATE_ERROR)
        return 0;
    return ticks * 1e9 / (double)(to.monotonic_ns - from.monotonic_ns);
}

double spex_tick_rate_since(struct spex_instant from) {
    struct spex_patience patience = spex_patience_for(RATE_WAIT_NS);
    double rate;
    do
        rate = spex_tick_rate(from, spex_instant_now());
    while (rate <= 0 && spex_patience_left(&patience));
    return rate;
}

bool spex_clock_moves(void) {
    struct spex_patience patience = spex_patience_for(STEP_WAIT_NS);
    uint64_t begin = spex_clock_ns(CLOCK_MONOTONIC_RAW), now;
    do
        now = spex_clock_ns(CLOCK_MONOTONIC_RAW);
    while (now == begin && spex_patience_left(&patience));
    return now != begin;
}
