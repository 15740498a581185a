/* SPDX-License-Identifier: MIT */
/* Periods that come to so many records a second: what is exact, what a site can have, and when
 * it is worth a change. */
#ifndef SPEX_RATE_PERIOD_H
#define SPEX_RATE_PERIOD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <spex/site.h>

/* Periods are left as they are when they would get longer, or shorter, by less than that. */
#define SPEX_PERIOD_LONGER  0.05
#define SPEX_PERIOD_SHORTER 0.15

/* 1 or more. */
static inline double spex_period_exact(double frequency, double records) {
    if (frequency <= records)
        return 1;
    double period = records > 0 ? frequency / records : SPEX_CONTROL_PERIOD_MAX;
    return period < SPEX_CONTROL_PERIOD_MAX ? period : SPEX_CONTROL_PERIOD_MAX;
}

/* Rounded up, as the next shorter one would make more records than there may be. 0: all. */
static inline uint32_t spex_period_whole(double frequency, double records) {
    double period = ceil(spex_period_exact(frequency, records));
    return period > 1 ? (uint32_t)period : 0;
}

/* Whether a period, 0 for all, is to become that. One that is a little short may stay, for what
 * that costs shows soon; but a longer one becomes shorter only when that can last. Otherwise
 * short periods, which are far apart, would alternate. */
static inline bool spex_period_differs(uint32_t period, double exact) {
    double before = period ? period : 1;
    return exact > before * (1 + SPEX_PERIOD_LONGER) ||
           before > ceil(exact) * (1 + SPEX_PERIOD_SHORTER);
}

#endif
