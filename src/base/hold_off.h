/* SPDX-License-Identifier: MIT */
/* Holding something off for a while, and for twice as long each time that it must be held off
 * again. */
#ifndef SPEX_BASE_HOLD_OFF_H
#define SPEX_BASE_HOLD_OFF_H

/* Seconds that a probe whose executions cost too much is held off: the first time, and at most. */
#define SPEX_HOLD_OFF_SECONDS     1.0
#define SPEX_HOLD_OFF_SECONDS_MAX 64.0

/* All zero: it has never been held off. */
struct spex_hold_off {
    /* Seconds; 0: it is not held off. */
    double until;
    /* How long it was held off the last time, in seconds; 0: the next time is the first. */
    double length;
};

static inline void spex_hold_off(struct spex_hold_off *held, double now, double least,
                                 double most) {
    held->length = held->length > 0 ? held->length * 2 : least;
    if (held->length > most)
        held->length = most;
    held->until = now + held->length;
}

#endif
