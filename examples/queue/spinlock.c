/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include <err.h>
#include <pthread.h>
#include <stdlib.h>

#include "ring.h"

struct queue {
    pthread_spinlock_t lock;
    struct ring ring; /* under the lock */
};

static struct queue *spinlock_new(size_t capacity) {
    struct queue *queue = calloc(1, sizeof(*queue));
    if (!queue || pthread_spin_init(&queue->lock, PTHREAD_PROCESS_PRIVATE))
        errx(1, "out of memory");
    ring_init(&queue->ring, capacity);
    return queue;
}

static void spinlock_free(struct queue *queue) {
    ring_fini(&queue->ring);
    pthread_spin_destroy(&queue->lock);
    free(queue);
}

static size_t spinlock_put(struct queue *queue, const struct item *items, size_t count) {
    pthread_spin_lock(&queue->lock);
    count = ring_put(&queue->ring, items, count);
    pthread_spin_unlock(&queue->lock);
    return count;
}

static size_t spinlock_take(struct queue *queue, struct item *items, size_t most) {
    pthread_spin_lock(&queue->lock);
    size_t count = ring_take(&queue->ring, items, most);
    pthread_spin_unlock(&queue->lock);
    return count;
}

const struct queue_kind queue_spinlock = {"spinlock", spinlock_new, spinlock_free, spinlock_put,
                                          spinlock_take};
