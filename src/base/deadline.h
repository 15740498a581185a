/* SPDX-License-Identifier: MIT */
/* A moment by which something has to have happened. */
#ifndef SPEX_BASE_DEADLINE_H
#define SPEX_BASE_DEADLINE_H

#include <stdint.h>

struct spex_deadline {
    int64_t monotonic_ns;
};

int64_t spex_monotonic_ns(void);

struct spex_deadline spex_deadline_in(double seconds);

/* For poll(): milliseconds until then, rounded up; 0 when it is over. */
int spex_deadline_left_ms(struct spex_deadline deadline);

#endif
