/* SPDX-License-Identifier: MIT */
#include "budget_clock.h"

#include <time.h>

#include <spex/atomic.h>

#include "base/clock.h"

uint64_t __real_spex_clock_ns(clockid_t clock);
uint64_t __wrap_spex_clock_ns(clockid_t clock);

static const uint64_t never_stopped;
static const uint64_t *stopped = &never_stopped;

void budget_clock_set(const uint64_t *stopped_ns) {
    stopped = stopped_ns;
}

/* When the process was stopped in between, the two do not belong together. Relaxed: nothing else is read by it, and
 * what was added before the process went on is there when it does. */
uint64_t __wrap_spex_clock_ns(clockid_t clock) {
    if (clock != CLOCK_MONOTONIC)
        return __real_spex_clock_ns(clock);
    for (;;) {
        uint64_t before = spex_load_relaxed(stopped);
        uint64_t now = __real_spex_clock_ns(clock);
        if (spex_load_relaxed(stopped) == before)
            return now - before;
    }
}
