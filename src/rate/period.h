/* SPDX-License-Identifier: MIT */
/* Periods for a wanted number of records a second: the exact period, the whole one that a site can
 * have, and the hysteresis of changes. */
#ifndef SPEX_RATE_PERIOD_H
#define SPEX_RATE_PERIOD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <spex/site.h>

/* A period changes only when it gets longer, or shorter, by more than this share. */
#define SPEX_PERIOD_LONGER  0.05
#define SPEX_PERIOD_SHORTER 0.15

/* A whole period may be so much shorter than the exact one. */
#define SPEX_PERIOD_SHORT 0.04

/* The period for `records` records a second of a probe that executes `frequency` times: at least
 * 1. */
static inline double spex_period_exact(double frequency, double records) {
    if (frequency <= records)
        return 1;
    double period = records > 0 ? frequency / records : SPEX_CONTROL_PERIOD_MAX;
    return period < SPEX_CONTROL_PERIOD_MAX ? period : SPEX_CONTROL_PERIOD_MAX;
}

/* The whole period for that: rounded up, since the next shorter one would make too many records,
 * unless that is a little short only. */
static inline double spex_period_rounded(double exact) {
    return ceil(exact / (1 + SPEX_PERIOD_SHORT));
}

/* The period as a site has it. 0: every execution makes a record. */
static inline uint32_t spex_period_whole(double frequency, double records) {
    double period = spex_period_rounded(spex_period_exact(frequency, records));
    return period > 1 ? (uint32_t)period : 0;
}

/* Whether a period (0: all) is to change to `exact`. A period that is a little short stays: the
 * accounts soon show what it costs. A period becomes shorter only by a margin: otherwise short
 * whole periods, which lie far apart in cost, would alternate. */
static inline bool spex_period_differs(uint32_t period, double exact) {
    double before = period ? period : 1;
    return exact > before * (1 + SPEX_PERIOD_LONGER) ||
           before > spex_period_rounded(exact) * (1 + SPEX_PERIOD_SHORTER);
}

#endif
