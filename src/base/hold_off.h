/* SPDX-License-Identifier: MIT */
/* Exponential back-off: holds something off for a while, and for twice as long each further
 * time. */
#ifndef SPEX_BASE_HOLD_OFF_H
#define SPEX_BASE_HOLD_OFF_H

/* All zero: it has never been held off. */
struct spex_hold_off {
    /* The end of the time, in seconds on the caller's clock; 0: it is not held off. */
    double until;
    /* How long it was held off last, in seconds; 0: never. */
    double length;
};

/* Holds it off from `now` on, for `least` seconds the first time and at most `most`. */
static inline void spex_hold_off(struct spex_hold_off *held, double now, double least,
                                 double most) {
    held->length = held->length > 0 ? held->length * 2 : least;
    if (held->length > most)
        held->length = most;
    held->until = now + held->length;
}

#endif
