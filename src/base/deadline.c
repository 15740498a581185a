/* SPDX-License-Identifier: MIT */
/* Deadlines by CLOCK_MONOTONIC, which does not jump when the date is set. */
#include "base/deadline.h"

#include <limits.h>
#include <time.h>

#include "base/clock.h"

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
