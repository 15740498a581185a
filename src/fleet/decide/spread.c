/* SPDX-License-Identifier: MIT */
/* A greedy cover. Probes are taken in the order of how few instances record them, the dearest of
 * these first, so that a new instance takes what is missing. An instance keeps what it has until
 * something is missing that it alone can take: instances do not change because others come or
 * go. */
#include "fleet/decide/spread.h"

#include <stdlib.h>
#include <string.h>

/* Costs are measured: only what is so far above its budget is too dear. */
#define DEAR 1.1

/* Sums of shares such as 0.1 are not exact. */
#define ROUNDING 1e-9

static bool has(const struct spex_fleet_instance *instance, size_t probe) {
    return instance->probes[probe / 64] >> probe % 64 & 1;
}

static double cost_at(const struct spex_fleet_map *map, const struct spex_fleet_instance *instance,
                      size_t probe) {
    double cost = map->cost[probe];
    return cost < instance->budget ? cost : instance->budget;
}

static void settle_mode(const struct spex_fleet_map *map, struct spex_fleet_instance *instance) {
    instance->mode = !instance->probe_count               ? SPEX_FLEET_NONE
                     : instance->probe_count < map->count ? SPEX_FLEET_PARTIAL
                                                          : SPEX_FLEET_FULL;
}

/* Switches the probe on if it fits. */
static bool take(const struct spex_fleet_map *map, struct spex_fleet_state *state,
                 struct spex_fleet_instance *instance, size_t probe) {
    double cost = cost_at(map, instance, probe);
    if (has(instance, probe) || instance->spent + cost > instance->budget + ROUNDING)
        return false;
    instance->probes[probe / 64] |= UINT64_C(1) << probe % 64;
    instance->spent += cost;
    instance->probe_count++;
    state->cover[probe]++;
    return true;
}

void spex_fleet_spread_adopt(const struct spex_fleet_map *map, struct spex_fleet_state *state,
                             struct spex_fleet_instance *instance, const uint64_t *probes) {
    spex_fleet_spread_clear(map, state, instance);
    for (size_t p = 0; p < map->count; p++) {
        if (!(probes[p / 64] >> p % 64 & 1))
            continue;
        instance->probes[p / 64] |= UINT64_C(1) << p % 64;
        instance->probe_count++;
        state->cover[p]++;
    }
    state->instrumented += instance->probe_count > 0;
    settle_mode(map, instance);
}

/* Sets what the instance's probes take. Returns the dearest; map->count: it has none. */
static size_t reckon(const struct spex_fleet_map *map, struct spex_fleet_instance *instance) {
    size_t dearest = map->count;
    instance->spent = 0;
    for (size_t p = 0; p < map->count; p++) {
        if (!has(instance, p))
            continue;
        instance->spent += cost_at(map, instance, p);
        if (dearest == map->count || map->cost[p] > map->cost[dearest])
            dearest = p;
    }
    return dearest;
}

static void drop(const struct spex_fleet_map *map, struct spex_fleet_state *state,
                 struct spex_fleet_instance *instance, size_t probe) {
    instance->probes[probe / 64] &= ~(UINT64_C(1) << probe % 64);
    instance->probe_count--;
    state->cover[probe]--;
    settle_mode(map, instance);
}

void spex_fleet_spread_bound(const struct spex_fleet_map *map, struct spex_fleet_state *state,
                             double now) {
    for (size_t i = 0; i < state->count; i++) {
        struct spex_fleet_instance *instance = &state->instances[i];
        enum spex_fleet_mode before = instance->mode;
        size_t dearest = reckon(map, instance);
        if (instance->spent <= DEAR * instance->budget)
            continue;
        while (instance->spent > instance->budget + ROUNDING && instance->probe_count > 1) {
            drop(map, state, instance, dearest);
            dearest = reckon(map, instance);
        }
        instance->before = before;
        instance->cause = SPEX_FLEET_CAUSE_DEAR;
        instance->since = now;
        instance->changes++;
    }
}

struct candidate {
    size_t cover, probe;
    double cost;
};

static int by_need(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->cover != y->cover)
        return x->cover < y->cover ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    return x->probe < y->probe ? -1 : 1;
}

void spex_fleet_spread_clear(const struct spex_fleet_map *map, struct spex_fleet_state *state,
                             struct spex_fleet_instance *instance) {
    for (size_t p = 0; p < map->count; p++)
        state->cover[p] -= has(instance, p);
    state->instrumented -= instance->probe_count > 0;
    memset(instance->probes, 0, sizeof(instance->probes));
    instance->probe_count = 0;
    instance->spent = 0;
    instance->mode = SPEX_FLEET_NONE;
}

void spex_fleet_spread_assign(const struct spex_fleet_map *map, struct spex_fleet_state *state,
                              struct spex_fleet_instance *instance) {
    struct candidate candidates[SPEX_FLEET_PROBES_MAX];
    spex_fleet_spread_clear(map, state, instance);
    for (size_t p = 0; p < map->count; p++)
        candidates[p] = (struct candidate){state->cover[p], p, map->cost[p]};
    if (map->count)
        qsort(candidates, map->count, sizeof(*candidates), by_need);
    for (size_t c = 0; c < map->count; c++)
        take(map, state, instance, candidates[c].probe);
    state->instrumented += instance->probe_count > 0;
    settle_mode(map, instance);
}

bool spex_fleet_spread_redundant(const struct spex_fleet_map *map,
                                 const struct spex_fleet_state *state,
                                 const struct spex_fleet_instance *instance) {
    for (size_t p = 0; p < map->count; p++)
        if (has(instance, p) && state->cover[p] < 2)
            return false;
    return true;
}

size_t spex_fleet_spread_covered(const struct spex_fleet_map *map,
                                 const struct spex_fleet_state *state) {
    size_t covered = 0;
    for (size_t p = 0; p < map->count; p++)
        covered += state->cover[p] > 0;
    return covered;
}

/* Of all probes that it gets at a time, it changes once. */
static void note(struct spex_fleet_instance *instance, double now) {
    if (instance->cause == SPEX_FLEET_CAUSE_COVER && instance->since == now)
        return;
    instance->cause = SPEX_FLEET_CAUSE_COVER;
    instance->before = instance->mode;
    instance->since = now;
    instance->changes++;
}

/* Switches the probe on at an instance that has room for it. */
static bool fit_in(const struct spex_fleet_map *map, struct spex_fleet_state *state, size_t probe,
                   double now) {
    for (size_t i = 0; i < state->count; i++) {
        struct spex_fleet_instance *instance = &state->instances[i];
        if (instance->leaving || !instance->probe_count)
            continue;
        if (!take(map, state, instance, probe))
            continue;
        note(instance, now);
        settle_mode(map, instance);
        return true;
    }
    return false;
}

/* Gives another set of probes to an instance whose own are recorded elsewhere. */
static bool exchange(const struct spex_fleet_map *map, struct spex_fleet_state *state, double now) {
    for (size_t i = 0; i < state->count; i++) {
        struct spex_fleet_instance *instance = &state->instances[i];
        if (instance->leaving || !instance->probe_count ||
            !spex_fleet_spread_redundant(map, state, instance))
            continue;
        note(instance, now);
        spex_fleet_spread_assign(map, state, instance);
        return true;
    }
    return false;
}

/* Each exchange takes at least one missing probe, since these come first and each fits an empty
 * budget. A probe for which nobody has room does not keep those behind it from theirs. */
void spex_fleet_spread_repair(const struct spex_fleet_map *map, struct spex_fleet_state *state,
                              double now) {
    bool exchanges = state->instrumented > 0;
    for (size_t p = 0; p < map->count; p++)
        if (!state->cover[p] && !fit_in(map, state, p, now) && exchanges)
            exchanges = exchange(map, state, now);
}
