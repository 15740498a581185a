/* SPDX-License-Identifier: MIT */
#include "ring.h"

#include <err.h>
#include <stdlib.h>

void ring_init(struct ring *ring, size_t capacity) {
    *ring = (struct ring){.items = calloc(capacity, sizeof(struct item)), .capacity = capacity};
    if (!ring->items)
        errx(1, "out of memory");
}

void ring_fini(struct ring *ring) {
    free(ring->items);
}

size_t ring_put(struct ring *ring, const struct item *items, size_t count) {
    size_t room = ring->capacity - ring->count, place = ring->first + ring->count;
    count = count < room ? count : room;
    for (size_t i = 0; i < count; i++, place++)
        ring->items[place < ring->capacity ? place : place - ring->capacity] = items[i];
    ring->count += count;
    return count;
}

size_t ring_take(struct ring *ring, struct item *items, size_t most) {
    size_t count = most < ring->count ? most : ring->count;
    for (size_t i = 0; i < count; i++) {
        items[i] = ring->items[ring->first++];
        ring->first = ring->first < ring->capacity ? ring->first : 0;
    }
    ring->count -= count;
    return count;
}
