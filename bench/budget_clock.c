/* SPDX-License-Identifier: MIT */
/* The wrapped clock, and the pointer to the time for which this process was stopped. */
#include "budget_clock.h"

#include <time.h>

#include <spex/atomic.h>

#include "base/clock.h"

uint64_t __real_spex_clock_ns(clockid_t clock);
uint64_t __wrap_spex_clock_ns(clockid_t clock);

static const uint64_t never_stopped;
static const uint64_t *stopped_total = &never_stopped;

void budget_clock_set(const uint64_t *stopped_ns) {
    stopped_total = stopped_ns;
}

/* Reads the clock again when the process was stopped between the two reads of the total. The
 * loads are relaxed: no other data depends on them, and the parent adds to the total before it
 * continues the process. */
uint64_t __wrap_spex_clock_ns(clockid_t clock) {
    if (clock != CLOCK_MONOTONIC)
        return __real_spex_clock_ns(clock);
    for (;;) {
        uint64_t before = spex_load_relaxed(stopped_total);
        uint64_t now = __real_spex_clock_ns(clock);
        if (spex_load_relaxed(stopped_total) == before)
            return now - before;
    }
}
