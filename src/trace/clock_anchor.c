/* SPDX-License-Identifier: MIT */
/* The rate of the ticks is measured by CLOCK_MONOTONIC, which runs as fast as the wall clock and
 * does not jump with it. */
#include "trace/clock_anchor.h"

#include <time.h>

#include <spex/ticks.h>

#include "base/clock.h"

#define SECOND_NS 1000000000u

/* More than in spex_instant_now: a reading that is off by a microsecond shows in times of day. */
enum { READINGS = 16 };

struct spex_journal_clock spex_clock_anchor_now(void) {
    struct spex_journal_clock best = {.ticks = 0};
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = spex_ticks();
        uint64_t realtime = spex_clock_ns(CLOCK_REALTIME);
        uint64_t monotonic = spex_clock_ns(CLOCK_MONOTONIC);
        uint64_t width = spex_ticks() - before;
        if (width >= narrowest)
            continue;
        narrowest = width;
        /* In the middle of the first half. */
        best = (struct spex_journal_clock){
            .ticks = before + width / 4, .realtime_ns = realtime, .monotonic_ns = monotonic};
    }
    return best;
}

struct spex_trace_clock spex_trace_clock(struct spex_journal_clock first,
                                         struct spex_journal_clock later) {
    struct spex_trace_clock clock = {.ticks_per_second = SECOND_NS};
    uint64_t ns = later.monotonic_ns - first.monotonic_ns;
    if (later.monotonic_ns > first.monotonic_ns && later.ticks > first.ticks)
        clock.ticks_per_second =
            (uint64_t)((double)(later.ticks - first.ticks) * SECOND_NS / (double)ns + 0.5);
    uint64_t rate = clock.ticks_per_second ? clock.ticks_per_second : 1;
    /* The ticks' own time is taken from the wall clock, in whole seconds and ticks. */
    uint64_t since = first.ticks / rate;
    uint64_t rest_ns = (uint64_t)((double)(first.ticks % rate) * SECOND_NS / (double)rate + 0.5);
    int64_t at_zero = (int64_t)first.realtime_ns - (int64_t)rest_ns;
    /* Of a wall clock that has not been set yet, 0 ticks may lie before its beginning. */
    int64_t before = at_zero < 0;
    uint64_t wall_ns = (uint64_t)(at_zero + before * SECOND_NS);
    clock.seconds = (int64_t)(wall_ns / SECOND_NS) - before - (int64_t)since;
    clock.ticks = (uint64_t)((double)(wall_ns % SECOND_NS) * (double)rate / SECOND_NS + 0.5);
    return clock;
}
