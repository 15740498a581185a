/* SPDX-License-Identifier: MIT */
/* Deadlines by CLOCK_MONOTONIC, which does not jump when the date is set. */
#include "base/deadline.h"

#include <limits.h>
#include <time.h>

#include "base/clock.h"
#include "text/waits.h"

/* How long a loop sleeps between two looks, at least. */
#define LOOK_AGAIN_NS 50000

struct spex_deadline spex_deadline_in(double seconds) {
    return (struct spex_deadline){(int64_t)spex_clock_ns(CLOCK_MONOTONIC) +
                                  (int64_t)(seconds * 1e9)};
}

int spex_deadline_left_ms(struct spex_deadline deadline) {
    int64_t left = deadline.monotonic_ns - (int64_t)spex_clock_ns(CLOCK_MONOTONIC);
    if (left <= 0)
        return 0;
    return left / 1000000 < INT_MAX ? (int)(left / 1000000) + 1 : INT_MAX;
}

int spex_deadline_share_ms(struct spex_deadline deadline, long parts) {
    int share = (int)(spex_deadline_left_ms(deadline) / parts);
    return share > 0 ? share : 1;
}

struct spex_patience spex_patience_for(uint64_t ns) {
    return (struct spex_patience){(int64_t)(spex_clock_ns(CLOCK_MONOTONIC) + ns),
                                  ns / LOOK_AGAIN_NS};
}

bool spex_patience_left(struct spex_patience *patience) {
    if (patience->sleeps == 0 || (int64_t)spex_clock_ns(CLOCK_MONOTONIC) >= patience->until_ns)
        return false;
    patience->sleeps--;
    spex_wait_ns(LOOK_AGAIN_NS);
    return true;
}
