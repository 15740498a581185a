/* SPDX-License-Identifier: MIT */
/* The table of costs. Calibration writes an entry once, before the bit of its type in `known`, and
 * never again. Readers see the bit first, so they need no lock. */
#include "site/cost.h"

#include <errno.h>
#include <stdbool.h>

#include <spex/atomic.h>

#include "ring/probe_type.h"
#include "ring/record_layout.h"

static struct {
    /* Mask of the types whose entry in `costs` is complete. */
    uint32_t known;
    struct spex_cost costs[SPEX_PROBE_TYPES];
    struct spex_empty_span empty[SPEX_PROBE_TYPES];
    double drawn[SPEX_PROBE_TYPES];
    /* Ticks of a polled execution. Complete once any type is known. */
    double polled;
    /* What an execution takes more that calls the library. */
    double call;
    struct spex_region_cost region;
    bool region_known;
    /* By site, at its rate. */
    double sites[SPEX_MAX_SITES];
} cost_table;

uint32_t spex_costs_known(void) {
    return spex_load_acquire(&cost_table.known); /* K2 (K1): the entries of these types */
}

void spex_cost_set(uint32_t type, const struct spex_cost *cost) {
    cost_table.costs[spex_probe_type_ring(type)] = *cost;
    spex_store_release(&cost_table.known,
                       cost_table.known | type); /* K1 (K2): the entry is complete */
}

void spex_cost_empty_set(uint32_t type, struct spex_empty_span empty) {
    cost_table.empty[spex_probe_type_ring(type)] = empty;
}

struct spex_empty_span spex_cost_empty(uint32_t type) {
    static const struct spex_empty_span unknown;
    bool known = spex_probe_type_valid(type) && spex_costs_known() & type;
    return known ? cost_table.empty[spex_probe_type_ring(type)] : unknown;
}

void spex_cost_drawn_set(uint32_t type, double ticks) {
    cost_table.drawn[spex_probe_type_ring(type)] = ticks;
}

double spex_cost_drawn(uint32_t type) {
    bool known = spex_probe_type_valid(type) && spex_costs_known() & type;
    return known ? cost_table.drawn[spex_probe_type_ring(type)] : 0;
}

void spex_cost_polled_set(double ticks) {
    cost_table.polled = ticks;
}

int spex_cost_get(uint32_t type, struct spex_cost *cost) {
    if (!spex_probe_type_valid(type))
        return -EINVAL;
    if (!(spex_costs_known() & type))
        return -ENODATA;
    *cost = cost_table.costs[spex_probe_type_ring(type)];
    return 0;
}

double spex_cost_polled(void) {
    return spex_costs_known() ? cost_table.polled : 0;
}

void spex_cost_call_set(double ticks) {
    cost_table.call = ticks;
}

double spex_cost_call(void) {
    return spex_costs_known() ? cost_table.call : 0;
}

void spex_cost_region_set(const struct spex_region_cost *cost) {
    cost_table.region = *cost;
    spex_store_release(&cost_table.region_known, true); /* K3 (K4): the cost is complete */
}

struct spex_region_cost spex_cost_region(void) {
    bool known = spex_load_acquire(&cost_table.region_known); /* K4 (K3): the cost */
    return known ? cost_table.region : (struct spex_region_cost){0};
}

void spex_cost_of_site_set(uint32_t site, double ticks) {
    __atomic_store(&cost_table.sites[site], &ticks, __ATOMIC_RELAXED);
}

double spex_cost_of_site(uint32_t site) {
    double ticks;
    __atomic_load(&cost_table.sites[site], &ticks, __ATOMIC_RELAXED);
    return ticks;
}
