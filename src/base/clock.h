/* SPDX-License-Identifier: MIT */
/* Clocks of the system, and the relation between ticks (spex/ticks.h) and seconds. Any thread. */
#ifndef SPEX_BASE_CLOCK_H
#define SPEX_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Returns the time of a clock of the system in nanoseconds, whatever time a preloaded library
 * pretends to the program. */
uint64_t spex_clock_ns(clockid_t clock);
/* The same with an error, for clocks of threads: 0 or a negative errno value. */
int spex_clock_read(clockid_t clock, uint64_t *ns);
/* The same in seconds. */
double spex_clock_seconds(clockid_t clock);

/* Standard deviation of the difference of two times that a clock tells, as a part of its step: each
 * is somewhere in a step, so that the difference has a triangular distribution. */
#define SPEX_STEP_DEVIATION 0.408

/* One moment on both clocks. */
struct spex_instant {
    uint64_t ticks;
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC_RAW */
    /* Ticks between which the moment lies: the clocks cannot be read at once. */
    uint64_t width;
};

/* Reads both clocks, a few times; about 0.5 µs. */
struct spex_instant spex_instant_now(void);

/* Returns the ticks per second between two moments, with an error of at most 10^-4; 0 when the
 * moments are too close together for that, which takes less than a millisecond where the clocks are
 * read fast. From 5 ms on there is a result in any case. */
double spex_tick_rate(struct spex_instant from, struct spex_instant to);

/* Returns the ticks per second since `from`. Sleeps until spex_tick_rate has a result; 0: the clock
 * stands still. */
double spex_tick_rate_since(struct spex_instant from);

/* Whether CLOCK_MONOTONIC_RAW moves. Mostly at once; sleeps for a while where it does not. */
bool spex_clock_moves(void);

#endif
