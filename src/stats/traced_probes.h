/* SPDX-License-Identifier: MIT */
/* The probes that a tracer has seen, and the memory of their values. They are found by binary
 * search among their keys, which are small: of a thousand probes that appear one after the other
 * each moves half of them. */
#ifndef SPEX_STATS_TRACED_PROBES_H
#define SPEX_STATS_TRACED_PROBES_H

#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "stats/tracer.h"
#include "stats/values.h"

/* What records have in common: those of one spex_tracer_add(), or of a probe in one slice. */
struct spex_traced_batch {
    /* Factor by which each weight is scaled up for executions without a record; 1: there were
     * none. */
    double scale;
    /* Number of the stretch that the records belong to; 0: they belong to none. */
    uint32_t stretch;
};

struct spex_traced {
    struct spex_metrics metrics;
    struct spex_values *values[SPEX_MAX_FIELDS];
    struct spex_values *losses[SPEX_MAX_FIELDS]; /* spex_tracer_losses; NULL: none */
    struct spex_traced_batch slice;              /* stretch 0: it is not in slices */
    /* The slowest execution of a window, and of the one before it. */
    struct spex_slowest slowest, slowest_before;
    uint64_t window;
};

struct spex_traced_place {
    uint64_t key;
    struct spex_traced *probe;
};

/* All zeros: there are none yet. Probes and values stay where they are until spex_traced_free. */
struct spex_traced_probes {
    struct spex_traced_place *places; /* sorted by key */
    size_t count;
    size_t room;
    struct spex_traced_block *block; /* the last one */
    size_t used;                     /* probes in it */
    struct spex_traced_rooms *rooms; /* of values: the last ones */
    size_t occupied;                 /* of them */
    uint64_t time_block;             /* of records that are added now (variance.h) */
};

/* The order of probes: by id and then type. */
static inline uint64_t spex_traced_key(uint16_t id, uint32_t type) {
    return (uint64_t)id << 32 | type;
}

/* Position of the first probe whose key is not below `key`. */
static inline size_t spex_traced_position(const struct spex_traced_probes *probes, uint64_t key) {
    size_t low = 0, high = probes->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (probes->places[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The probe at a position, if it has this key; else NULL. */
static inline struct spex_traced *spex_traced_at(const struct spex_traced_probes *probes, size_t at,
                                                 uint64_t key) {
    return at < probes->count && probes->places[at].key == key ? probes->places[at].probe : NULL;
}

/* Inserts a probe at the position of its key. NULL: no memory. */
struct spex_traced *spex_traced_insert(struct spex_traced_probes *probes, size_t at, uint16_t id,
                                       uint32_t type);

/* A new, empty set of values, the first of which is near `origin`; NULL: no memory. What is not
 * written stays without a page: most of a histogram. */
struct spex_values *spex_traced_values(struct spex_traced_probes *probes, double origin);

void spex_traced_free(struct spex_traced_probes *probes);

#endif
