/* SPDX-License-Identifier: MIT */
/* Stores the tree of calling contexts. A node is a pair of a parent and a kernel. A hash table with
 * open addressing maps a node and a kernel to the node that the kernel enters from there; entries
 * are added and never changed. spex_kernel_enter_ (spex/kernel.h) looks at the first place of the
 * table, and calls spex_context_step for the rest.
 *
 * Threads: any thread and signal handler; lock-free. */
#include "probe/contexts.h"

#include <spex/atomic.h>
#include <spex/kernel.h>

/* Places of the table that are searched for a step, from its hash on. A step that finds none of
 * them free is refused, so a crowded table costs no more than this. */
#define PLACES_MAX 64

enum { STEPS = 1u << SPEX_CONTEXT_STEPS_BITS };

__thread uint32_t spex_context = SPEX_CONTEXT_ROOT;
uint64_t spex_context_steps[STEPS];

static struct spex_context_node context_nodes[SPEX_CONTEXTS_MAX + 1];

/* The highest number that has been given to a node. */
static uint32_t last_node = SPEX_CONTEXT_ROOT;

/* Steps that found no room. */
static uint64_t steps_refused;

/* Returns the nearest node of this kernel on the path from `from` to the root; 0: none. Recursion
 * returns to this node instead of making the tree deeper. */
static uint32_t ancestor_find(uint32_t from, uint16_t kernel) {
    while (from != SPEX_CONTEXT_ROOT && context_nodes[from].kernel != kernel)
        from = context_nodes[from].parent;
    return from == SPEX_CONTEXT_ROOT ? 0 : from;
}

/* Makes a node; returns 0 when there is no room. The number is taken with a relaxed exchange,
 * because other threads learn it only from the step to it, which N1 publishes. */
static uint32_t node_make(uint32_t parent, uint16_t kernel) {
    uint32_t before = spex_load_relaxed(&last_node);
    do {
        if (before == SPEX_CONTEXTS_MAX)
            return 0;
    } while (!spex_cas_relaxed(&last_node, &before, before + 1));
    context_nodes[before + 1] = (struct spex_context_node){.parent = parent, .kernel = kernel};
    return before + 1;
}

/* Adds the step to an empty place. Returns the node that it leads to; or 0, with *found 0 when
 * there is no room for a node, and otherwise the entry that another thread has put there meanwhile.
 * When two threads add the same step at once, the node of the slower one stays unused. */
static uint32_t step_make(uint64_t *place, uint64_t *found, uint32_t key) {
    uint32_t from = key >> 16;
    uint16_t kernel = (uint16_t)key;
    uint32_t node = ancestor_find(from, kernel);
    node = node ? node : node_make(from, kernel);
    if (!node)
        return 0;
    *found = 0;
    if (spex_cas_acq_rel(place, found, (uint64_t)key << 32 | node)) /* N1 (N2, N3 in kernel.h) */
        return node;
    return *found >> 32 == key ? (uint32_t)*found : 0;
}

/* Searches the places for the step, and adds it at the first empty place. A refused step stays in
 * the node that it came from. */
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
    spex_fetch_add_relaxed(&steps_refused, 1);
    return key >> 16;
}

bool spex_context_node(uint64_t number, struct spex_context_node *node) {
    if (number <= SPEX_CONTEXT_ROOT || number > SPEX_CONTEXTS_MAX ||
        number > spex_load_relaxed(&last_node))
        return false;
    /* A plain load is enough: the number comes with a record, whose thread has it from a step. The
     * acquires of the step and of the ring make the node visible here. */
    *node = context_nodes[number];
    return true;
}

uint64_t spex_contexts_refused(void) {
    return spex_load_relaxed(&steps_refused);
}
