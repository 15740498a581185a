/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include <err.h>
#include <pthread.h>
#include <stdlib.h>

#include "ring.h"

struct queue {
    pthread_mutex_t lock;
    struct ring ring; /* under the lock */
};

static struct queue *mutex_new(size_t capacity) {
    struct queue *queue = calloc(1, sizeof(*queue));
    if (!queue || pthread_mutex_init(&queue->lock, NULL))
        errx(1, "out of memory");
    ring_init(&queue->ring, capacity);
    return queue;
}

static void mutex_free(struct queue *queue) {
    ring_fini(&queue->ring);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static size_t mutex_put(struct queue *queue, const struct item *items, size_t count) {
    pthread_mutex_lock(&queue->lock);
    count = ring_put(&queue->ring, items, count);
    pthread_mutex_unlock(&queue->lock);
    return count;
}

static size_t mutex_take(struct queue *queue, struct item *items, size_t most) {
    pthread_mutex_lock(&queue->lock);
    size_t count = ring_take(&queue->ring, items, most);
    pthread_mutex_unlock(&queue->lock);
    return count;
}

const struct queue_kind queue_mutex = {"mutex", mutex_new, mutex_free, mutex_put, mutex_take};
