/* SPDX-License-Identifier: MIT */
#include "stats/traced_probes.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <spex/compiler.h>

#include "base/service_thread.h"

enum { BLOCK_PROBES = 32 };

struct spex_traced_block {
    struct spex_traced_block *former;
    struct spex_traced probes[BLOCK_PROBES];
};

enum { ROOM_PAGES = 13, PAGE = 4096, ROOMS = 16 };

/* Where a set of values lies: the sums of its spread begin a page, on which the lower buckets of
 * its histogram are, too. A probe whose values are below 2^13 has one page as long as all is
 * recorded, and another for rows. Each page takes the collector some microseconds. */
union room {
    struct {
        char before[-offsetof(struct spex_variance, origin) % PAGE];
        struct spex_values values;
    };
    char pages[ROOM_PAGES][PAGE];
};

_Static_assert(sizeof(union room) == ROOM_PAGES * PAGE, "no page is more than is needed");

struct spex_traced_rooms {
    union room rooms[ROOMS];
    struct spex_traced_rooms *former;
};

/* Doubles the room for places. False: no memory. */
static bool room_grow(struct spex_traced_probes *probes) {
    size_t room = probes->room ? probes->room * 2 : 256;
    struct spex_traced_place *places = spex_pages_take(room * sizeof(*places));
    if (!places)
        return false;
    if (probes->count > 0)
        memcpy(places, probes->places, probes->count * sizeof(*places));
    spex_pages_give_back(probes->places, probes->room * sizeof(*places));
    probes->places = places;
    probes->room = room;
    return true;
}

/* A new probe; NULL: no memory. */
static struct spex_traced *probe_take(struct spex_traced_probes *probes) {
    if (!probes->block || probes->used == BLOCK_PROBES) {
        struct spex_traced_block *block = spex_pages_take(sizeof(*block));
        if (!block)
            return NULL;
        block->former = probes->block;
        probes->block = block;
        probes->used = 0;
    }
    return &probes->block->probes[probes->used++];
}

struct spex_traced *spex_traced_insert(struct spex_traced_probes *probes, size_t at, uint16_t id,
                                       uint32_t type) {
    if (probes->count == probes->room && !room_grow(probes))
        return NULL;
    struct spex_traced *probe = probe_take(probes);
    if (!probe)
        return NULL;
    struct spex_traced_place *place = &probes->places[at];
    memmove(place + 1, place, (probes->count++ - at) * sizeof(*place));
    probe->metrics.probe_id = id;
    probe->metrics.probe_type = type;
    *place = (struct spex_traced_place){spex_traced_key(id, type), probe};
    return probe;
}

struct spex_values *spex_traced_values(struct spex_traced_probes *probes, double origin) {
    if (!probes->rooms || probes->occupied == ROOMS) {
        struct spex_traced_rooms *rooms = spex_pages_take(sizeof(*rooms));
        if (!rooms)
            return NULL;
        rooms->former = probes->rooms;
        probes->rooms = rooms;
        probes->occupied = 0;
    }
    struct spex_values *values = &probes->rooms->rooms[probes->occupied++].values;
    values->min = INFINITY;
    values->max = -INFINITY;
    values->mean = values->spread.origin = origin;
    return values;
}

void spex_traced_free(struct spex_traced_probes *probes) {
    for (struct spex_traced_rooms *rooms = probes->rooms, *former; rooms; rooms = former) {
        former = rooms->former;
        spex_pages_give_back(rooms, sizeof(*rooms));
    }
    for (struct spex_traced_block *block = probes->block, *former; block; block = former) {
        former = block->former;
        spex_pages_give_back(block, sizeof(*block));
    }
    spex_pages_give_back(probes->places, probes->room * sizeof(*probes->places));
}
