/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "ring/doorbell.h"

#include <limits.h>
#include <time.h>

#include <urcu/futex.h>

#include <spex/atomic.h>

/* A futex, on which collectors rest: counts reasons to look again. */
static int32_t doorbell_rings;

/* A collector is, or is about to be, asleep with a time limit. */
static bool collectors_rest;

void spex_doorbell_ring(void) {
    spex_fetch_add_release(&doorbell_rings, 1); /* C2 (C1): the reason was written before */
    futex_async(&doorbell_rings, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void spex_doorbell_alarm(void) {
    /* Relaxed: an alarm missed here is one longest sleep late. */
    if (spex_load_relaxed(&collectors_rest)) {
        spex_store_relaxed(&collectors_rest, false);
        spex_doorbell_ring();
    }
}

int32_t spex_doorbell_rings(void) {
    return spex_load_acquire(&doorbell_rings); /* C1 (C2) */
}

void spex_doorbell_rest(uint64_t ns, bool idle, int32_t *seen) {
    struct timespec limit = {.tv_nsec = (long)ns};
    spex_store_relaxed(&collectors_rest, !idle);
    futex_async(&doorbell_rings, FUTEX_WAIT, *seen, idle ? NULL : &limit, NULL, 0);
    spex_store_relaxed(&collectors_rest, false);
    *seen = spex_doorbell_rings();
}
