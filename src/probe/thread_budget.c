/* SPDX-License-Identifier: MIT */
#include "probe/thread_budget.h"

#include <spex/atomic.h>
#include <spex/spex.h>
#include <spex/ticks.h>

#include "ring/probe_type.h"
#include "site/cost.h"
#include "site/registry.h"

/* Of a record whose cost has not been measured, ticks. */
#define COST_UNKNOWN 500

/* Of the bound, what can be saved. */
#define SAVED 0.125

static struct {
    bool bounded;
    uint64_t most; /* ticks that can be saved */
    double rate;   /* ticks a tick */
} bound;

void spex_thread_budget_set(double share, double ticks_per_second) {
    bound.bounded = share > 0;
    bound.most = (uint64_t)(share * SAVED * SPEX_THREAD_BUDGET_SECONDS * ticks_per_second);
    /* After a rest what is left and what is gained come together. */
    bound.rate = share * (1 - 2 * SAVED);
    spex_sites_bound_records(bound.bounded);
}

bool spex_thread_budget_bounded(void) {
    return bound.bounded;
}

static uint64_t cost_of(unsigned type_ring) {
    struct spex_cost cost;
    if (spex_cost_get(spex_probe_type_of_ring(type_ring), &cost) != 0)
        return COST_UNKNOWN;
    return (uint64_t)cost.record + 1;
}

/* The clock is read only when nothing is left. What a handler takes in between may be taken twice,
 * never be there twice. */
bool spex_thread_budget_take(struct spex_thread_budget *allowance, unsigned type_ring) {
    uint64_t cost = cost_of(type_ring), left = spex_load_relaxed(&allowance->left);
    if (left < cost) {
        uint64_t now = spex_ticks(), since = spex_load_relaxed(&allowance->since);
        double gained = (double)(now - since) * bound.rate;
        spex_store_relaxed(&allowance->since, now);
        left += gained < (double)bound.most ? (uint64_t)gained : bound.most;
        left = left < bound.most ? left : bound.most;
        spex_store_relaxed(&allowance->left, left);
    }
    if (left < cost)
        return false;
    spex_store_relaxed(&allowance->left, left - cost);
    return true;
}
