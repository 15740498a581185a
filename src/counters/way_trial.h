/* SPDX-License-Identifier: MIT */
/* Tries one way of reading a counter on the calling thread: opens it, makes the counted events
 * (page faults, context switches, cache misses), compares the counts with the kernel's, and
 * measures the cost of a read. */
#ifndef SPEX_COUNTERS_WAY_TRIAL_H
#define SPEX_COUNTERS_WAY_TRIAL_H

#include <stdint.h>

#include "counters/plan.h"
#include "counters/ways.h"

struct spex_way_trial {
    /* Input: what is to be counted. */
    enum spex_counter counter;
    struct spex_counter_plan plan;
    /* Output: why the way does not work. */
    char why[120];
    /* Used by the trial itself: the event of `counter` alone. */
    struct spex_thread_counters mine;
};

/* Returns the ticks of one read in this way, with *err = 0. Returns 0 if the way does not work,
 * with the reason in trial->why and a negative errno value in *err. */
uint64_t spex_way_try(struct spex_way_trial *trial, enum spex_way way, int *err);

#endif
