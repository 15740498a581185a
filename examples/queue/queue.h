/* SPDX-License-Identifier: MIT */
/* A bounded queue of items, of one of several kinds. None of them waits for room or for items: what
 * does that is in waiting.h. Any number of threads. */
#ifndef QUEUE_QUEUE_H
#define QUEUE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#define ITEM_VALUES 7

/* A cache line's worth, as messages often are. */
struct item {
    uint64_t born; /* clock_ns() when its batch was ready to be put */
    uint64_t values[ITEM_VALUES];
};

struct queue;

struct queue_kind {
    const char *name;
    struct queue *(*new_queue)(size_t capacity);
    void (*free_queue)(struct queue *queue); /* with the items in it */
    /* So many of the items as there is room for; how many. */
    size_t (*put)(struct queue *queue, const struct item *items, size_t count);
    /* So many as there are, `most` at most; how many. */
    size_t (*take)(struct queue *queue, struct item *items, size_t most);
};

extern const struct queue_kind queue_mutex;    /* an array under a mutex */
extern const struct queue_kind queue_spinlock; /* an array under a spinlock */
extern const struct queue_kind queue_wfcq; /* liburcu's list: wait-free to put, a mutex to take */

#endif
