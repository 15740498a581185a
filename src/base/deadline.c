/* SPDX-License-Identifier: MIT */
/* Deadlines by CLOCK_MONOTONIC, which does not jump when the date is set. */
#include "base/deadline.h"

#include <limits.h>
#include <time.h>

int64_t spex_monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

struct spex_deadline spex_deadline_in(double seconds) {
    return (struct spex_deadline){spex_monotonic_ns() + (int64_t)(seconds * 1e9)};
}

int spex_deadline_left_ms(struct spex_deadline deadline) {
    int64_t left = deadline.monotonic_ns - spex_monotonic_ns();
    if (left <= 0)
        return 0;
    return left / 1000000 < INT_MAX ? (int)(left / 1000000) + 1 : INT_MAX;
}
