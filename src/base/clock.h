/* SPDX-License-Identifier: MIT */
/* Ticks of the counter that spex_ticks reads, and seconds. */
#ifndef SPEX_BASE_CLOCK_H
#define SPEX_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* A clock of the system in nanoseconds. */
uint64_t spex_clock_ns(clockid_t clock);

/* One moment on both clocks. */
struct spex_instant {
    uint64_t ticks;
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC_RAW */
};

struct spex_instant spex_instant_now(void);

/* Ticks per second as measured between two moments; 0 when they are not far enough apart to tell.
 */
double spex_tick_rate(struct spex_instant from, struct spex_instant to);

/* Ticks per second since `from`; waits until a few milliseconds have passed since then. */
double spex_tick_rate_since(struct spex_instant from);

#endif
