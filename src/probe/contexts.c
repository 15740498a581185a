/* SPDX-License-Identifier: MIT */
#include "probe/contexts.h"

#include <spex/atomic.h>
#include <spex/kernel.h>

/* A step is found at its hash or so many places behind it, or it is not there; so the table is
 * never full. */
#define PLACES_MAX 64

enum { STEPS = 1u << SPEX_CONTEXT_STEPS_BITS };

__thread uint32_t spex_context = SPEX_CONTEXT_ROOT;
uint64_t spex_context_steps[STEPS];

static struct spex_context_node nodes[SPEX_CONTEXTS_MAX + 1];
static uint32_t last = SPEX_CONTEXT_ROOT; /* number that has been given to a node */
static uint64_t refused;

/* The node from `from` up that is this kernel's; 0: none is. */
static uint32_t ancestor_of(uint32_t from, uint16_t kernel) {
    while (from != SPEX_CONTEXT_ROOT && nodes[from].kernel != kernel)
        from = nodes[from].parent;
    return from == SPEX_CONTEXT_ROOT ? 0 : from;
}

/* 0: there is no room. Relaxed: who gets to know the number does so by the step to it. */
static uint32_t node_make(uint32_t parent, uint16_t kernel) {
    uint32_t before = spex_load_relaxed(&last);
    do {
        if (before == SPEX_CONTEXTS_MAX)
            return 0;
    } while (!spex_cas_relaxed(&last, &before, before + 1));
    nodes[before + 1] = (struct spex_context_node){.parent = parent, .kernel = kernel};
    return before + 1;
}

/* Where two threads take the same step for the first time at once, one node of the two stays
 * without a step to it. */
static uint32_t step_make(uint64_t *place, uint64_t *found, uint32_t key) {
    uint32_t from = key >> 16;
    uint16_t kernel = (uint16_t)key;
    uint32_t node = ancestor_of(from, kernel);
    node = node ? node : node_make(from, kernel);
    if (!node)
        return 0;
    *found = 0;
    if (spex_cas_acq_rel(place, found, (uint64_t)key << 32 | node)) /* N1 (N2, N3 in kernel.h) */
        return node;
    return *found >> 32 == key ? (uint32_t)*found : 0;
}

uint32_t spex_context_step(uint32_t key) {
    for (uint32_t i = 0; i < PLACES_MAX; i++) {
        uint64_t *place = &spex_context_steps[(SPEX_CONTEXT_HASH_(key) + i) % STEPS];
        uint64_t found = spex_load_acquire(place); /* N2 (N1) */
        if (found >> 32 == key)
            return (uint32_t)found;
        if (found)
            continue;
        uint32_t node = step_make(place, &found, key);
        if (node)
            return node;
        if (!found)
            break;
    }
    spex_fetch_add_relaxed(&refused, 1);
    return key >> 16;
}

bool spex_context_node(uint64_t number, struct spex_context_node *node) {
    if (number <= SPEX_CONTEXT_ROOT || number > SPEX_CONTEXTS_MAX ||
        number > spex_load_relaxed(&last))
        return false;
    /* Plain: the number came with a record, whose maker had it from the step. */
    *node = nodes[number];
    return true;
}

uint64_t spex_contexts_refused(void) {
    return spex_load_relaxed(&refused);
}
