/* SPDX-License-Identifier: MIT */
/* The lanes of a probe stand in the order of the ends of their last spans, which is the order in
 * which they were used. A span takes the last of those that are free when it begins: so it leaves
 * the others to spans that began before, and there are no more lanes than spans that overlap. */
#include "tools/export/lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct used {
    int64_t end;
    unsigned lane;
};

struct probe {
    struct used *used;
    unsigned count, room;
};

struct spex_lanes {
    size_t count;
    struct probe probes[];
};

struct spex_lanes *spex_lanes_create(size_t probes) {
    struct spex_lanes *lanes = calloc(1, sizeof(*lanes) + probes * sizeof(lanes->probes[0]));
    if (lanes)
        lanes->count = probes;
    return lanes;
}

void spex_lanes_destroy(struct spex_lanes *lanes) {
    for (size_t p = 0; lanes && p < lanes->count; p++)
        free(lanes->probes[p].used);
    free(lanes);
}

/* How many lanes are free at a time. */
static unsigned free_at(const struct probe *probe, int64_t time) {
    unsigned low = 0, high = probe->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (probe->used[middle].end <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int lane_add(struct probe *probe) {
    if (probe->count == probe->room) {
        unsigned room = probe->room ? 2 * probe->room : 16;
        void *grown = realloc(probe->used, room * sizeof(*probe->used));
        if (!grown)
            return -ENOMEM;
        probe->used = grown;
        probe->room = room;
    }
    probe->used[probe->count].lane = probe->count;
    probe->count++;
    return 0;
}

int spex_lanes_span(struct spex_lanes *lanes, size_t probe, int64_t begin, int64_t end,
                    struct spex_lane *lane) {
    struct probe *of = &lanes->probes[probe];
    unsigned at = free_at(of, begin);
    bool fresh = at == 0;
    if (fresh && of->count == SPEX_LANES_MAX)
        return 1;
    if (fresh && lane_add(of) != 0)
        return -ENOMEM;
    at = fresh ? of->count - 1 : at - 1;
    unsigned number = of->used[at].lane;
    memmove(&of->used[at], &of->used[at + 1], (of->count - at - 1) * sizeof(*of->used));
    of->used[of->count - 1] = (struct used){end, number};
    *lane = (struct spex_lane){probe * SPEX_LANES_MAX + number, fresh};
    return 0;
}
