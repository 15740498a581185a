/* SPDX-License-Identifier: MIT */
/* Clocks of the system, and the relation between ticks (spex/ticks.h) and seconds. Any thread. */
#ifndef SPEX_BASE_CLOCK_H
#define SPEX_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the time of a clock of the system in nanoseconds. */
uint64_t spex_clock_ns(clockid_t clock);

/* One moment on both clocks. */
struct spex_instant {
    uint64_t ticks;
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC_RAW */
};

/* Reads both clocks, a few times; about 0.5 µs. */
struct spex_instant spex_instant_now(void);

/* Returns the ticks per second between two moments; 0 when they are less than 5 ms apart. */
double spex_tick_rate(struct spex_instant from, struct spex_instant to);

/* Returns the ticks per second since `from`. Sleeps until 5 ms have passed since then. */
double spex_tick_rate_since(struct spex_instant from);

#endif
