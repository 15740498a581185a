/* SPDX-License-Identifier: MIT */
#include <err.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <urcu/wfcqueue.h>

#include "queue.h"

struct node {
    struct cds_wfcq_node link;
    struct item item;
};

struct queue {
    _Alignas(64) struct cds_wfcq_head head;
    _Alignas(64) struct cds_wfcq_tail tail;
    _Alignas(64) atomic_llong room; /* relaxed: the list itself hands over what is in it */
};

static struct queue *wfcq_new(size_t capacity) {
    struct queue *queue = aligned_alloc(64, sizeof(*queue));
    if (!queue)
        errx(1, "out of memory");
    cds_wfcq_init(&queue->head, &queue->tail);
    atomic_init(&queue->room, (long long)capacity);
    return queue;
}

/* Room for so many as there is, up to `count`; how many. */
static size_t reserve(struct queue *queue, size_t count) {
    long long room = atomic_load_explicit(&queue->room, memory_order_relaxed), taken;
    do {
        if (room <= 0)
            return 0;
        taken = room < (long long)count ? room : (long long)count;
    } while (!atomic_compare_exchange_weak_explicit(&queue->room, &room, room - taken,
                                                    memory_order_relaxed, memory_order_relaxed));
    return (size_t)taken;
}

/* Strung together first, so that the queue is touched once for all of them. */
static size_t wfcq_put(struct queue *queue, const struct item *items, size_t count) {
    struct __cds_wfcq_head head;
    struct cds_wfcq_tail tail;
    __cds_wfcq_init(&head, &tail);
    count = reserve(queue, count);
    for (size_t i = 0; i < count; i++) {
        struct node *node = malloc(sizeof(*node));
        if (!node)
            errx(1, "out of memory");
        node->item = items[i];
        cds_wfcq_node_init(&node->link);
        cds_wfcq_enqueue(&head, &tail, &node->link);
    }
    if (count)
        __cds_wfcq_splice_blocking(&queue->head, &queue->tail, &head, &tail);
    return count;
}

static size_t wfcq_take(struct queue *queue, struct item *items, size_t most) {
    size_t count = 0;
    if (cds_wfcq_empty(&queue->head, &queue->tail))
        return 0;
    cds_wfcq_dequeue_lock(&queue->head, &queue->tail);
    for (; count < most; count++) {
        struct cds_wfcq_node *link = __cds_wfcq_dequeue_blocking(&queue->head, &queue->tail);
        if (!link)
            break;
        struct node *node = caa_container_of(link, struct node, link);
        items[count] = node->item;
        free(node);
    }
    cds_wfcq_dequeue_unlock(&queue->head, &queue->tail);
    atomic_fetch_add_explicit(&queue->room, (long long)count, memory_order_relaxed);
    return count;
}

static void wfcq_free(struct queue *queue) {
    struct item item;
    while (wfcq_take(queue, &item, 1))
        continue;
    cds_wfcq_destroy(&queue->head, &queue->tail);
    free(queue);
}

const struct queue_kind queue_wfcq = {"wfcq", wfcq_new, wfcq_free, wfcq_put, wfcq_take};
