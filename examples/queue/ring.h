/* SPDX-License-Identifier: MIT */
/* An array that items go round in; for one thread at a time. */
#ifndef QUEUE_RING_H
#define QUEUE_RING_H

#include "queue.h"

struct ring {
    struct item *items;
    size_t capacity;
    size_t first, count; /* of the items that are in it */
};

void ring_init(struct ring *ring, size_t capacity);
void ring_fini(struct ring *ring);
size_t ring_put(struct ring *ring, const struct item *items, size_t count);
size_t ring_take(struct ring *ring, struct item *items, size_t most);

#endif
