/* SPDX-License-Identifier: MIT */
/* Tries one way of reading a counter on the calling thread: opens it, runs a workload that makes
 * the counted events (page faults, context switches, cache misses), compares with what the kernel
 * counts, and takes the cost of a read. */
#ifndef SPEX_COUNTERS_WAY_TRIAL_H
#define SPEX_COUNTERS_WAY_TRIAL_H

#include <stdint.h>

#include "counters/plan.h"
#include "counters/ways.h"

struct spex_way_trial {
    /* In: what is to be counted. */
    enum spex_counter counter;
    struct spex_counter_plan plan;
    /* Out: why the way does not work. */
    char why[120];
    /* For the trial itself: only the events of `counter` are used. */
    struct spex_thread_counters mine;
};

/* Returns the ticks that one read takes by this way, with *err = 0. Returns 0 when the way does not
 * work: trial->why says why, *err is a negative errno value. */
uint64_t spex_way_try(struct spex_way_trial *trial, enum spex_way way, int *err);

#endif
