/* SPDX-License-Identifier: MIT */
/* A token bucket for each thread, in ticks (thread_budget.h). */
#include "probe/thread_budget.h"

#include <spex/atomic.h>
#include <spex/ticks.h>

#include "ring/probe_type.h"
#include "site/cost.h"
#include "site/registry.h"

/* Ticks that a record is taken to cost when its cost has not been measured. */
#define RECORD_COST_UNKNOWN 500

/* The capacity of a bucket, as a share of what the bound allows in SPEX_THREAD_BUDGET_SECONDS. */
#define BUCKET_SHARE 0.125

/* The bound for all threads. Written before any site is on, so plain loads are enough. */
static struct {
    bool bounded;
    /* Capacity of a bucket in ticks. */
    uint64_t capacity;
    /* Ticks that a bucket gains per tick of time. */
    double rate;
} thread_bound;

void spex_thread_budget_set(double share, double ticks_per_second) {
    thread_bound.bounded = share > 0;
    thread_bound.capacity =
        (uint64_t)(share * BUCKET_SHARE * SPEX_THREAD_BUDGET_SECONDS * ticks_per_second);
    /* After a rest a thread can spend a full bucket twice in a row (spex_thread_budget_take), so
     * two capacities are taken off the rate. */
    thread_bound.rate = share * (1 - 2 * BUCKET_SHARE);
    spex_sites_bound_records(thread_bound.bounded);
}

bool spex_thread_budget_bounded(void) {
    return thread_bound.bounded;
}

/* A bounded thread counts down to each record, as where chance chooses it. */
static uint64_t record_cost(unsigned type_ring) {
    double drawn = spex_cost_drawn(spex_probe_type_of_ring(type_ring));
    return drawn > 0 ? (uint64_t)drawn + 1 : RECORD_COST_UNKNOWN;
}

/* The clock is read only when too little is left, because reading it costs a part of a record. So a
 * thread can spend what is left and then what has been gained, each at most a full bucket.
 *
 * A signal handler that interrupts this function may spend the same ticks as the function. It
 * cannot fill the bucket twice, because every store replaces the content. */
bool spex_thread_budget_take(struct spex_thread_budget *budget, unsigned type_ring) {
    uint64_t cost = record_cost(type_ring), left = spex_load_relaxed(&budget->left);
    if (left < cost) {
        uint64_t now = spex_ticks(), since = spex_load_relaxed(&budget->since);
        /* Negative if a handler filled the bucket after `now` was read. */
        int64_t passed = (int64_t)(now - since);
        double gained = passed > 0 ? (double)passed * thread_bound.rate : 0;
        spex_store_relaxed(&budget->since, now);
        left += gained < (double)thread_bound.capacity ? (uint64_t)gained : thread_bound.capacity;
        left = left < thread_bound.capacity ? left : thread_bound.capacity;
        spex_store_relaxed(&budget->left, left);
    }
    if (left < cost)
        return false;
    spex_store_relaxed(&budget->left, left - cost);
    return true;
}
