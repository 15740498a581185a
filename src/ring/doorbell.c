/* SPDX-License-Identifier: MIT */
/* A futex on which the collectors sleep. Its value counts the rings, so a ring between the look at
 * the state and the sleep is not missed: the kernel does not put a thread to sleep on another
 * value. */
#define _GNU_SOURCE
#include "ring/doorbell.h"

#include <limits.h>
#include <time.h>

#include <spex/atomic.h>

#include "base/service_thread.h"

/* The futex: how often the doorbell has rung. */
static int32_t doorbell_rings;

/* A collector sleeps, or is about to sleep, with a time limit. Saves producers the system call
 * while the collectors are busy. */
static bool collectors_rest;

void spex_doorbell_ring(void) {
    spex_fetch_add_release(&doorbell_rings, 1); /* C2 (C1): the reason was written before */
    spex_futex_wake(&doorbell_rings, INT_MAX);
}

void spex_doorbell_alarm(void) {
    /* Relaxed: where a producer does not see that a collector has gone to sleep, the collector
     * finds the records at the end of that sleep. */
    if (spex_load_relaxed(&collectors_rest)) {
        spex_store_relaxed(&collectors_rest, false);
        spex_doorbell_ring();
    }
}

int32_t spex_doorbell_rings(void) {
    return spex_load_acquire(&doorbell_rings); /* C1 (C2): what made it ring */
}

void spex_doorbell_rest(uint64_t ns, bool idle, int32_t *seen) {
    struct timespec limit = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    spex_store_relaxed(&collectors_rest, !idle);
    spex_futex_wait(&doorbell_rings, *seen, ns == UINT64_MAX ? NULL : &limit);
    spex_store_relaxed(&collectors_rest, false);
    *seen = spex_doorbell_rings();
}
