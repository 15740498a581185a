/* SPDX-License-Identifier: MIT */
#include "inbox.h"

#define BATCHES_MOST 64

void inbox_init(struct inbox *inbox) {
    pthread_mutex_init(&inbox->lock, NULL);
    inbox->first = NULL;
    atomic_init(&inbox->batches, 0);
}

static unsigned batches(struct inbox *inbox) {
    return atomic_load_explicit(&inbox->batches, memory_order_relaxed);
}

bool inbox_put(struct inbox *inbox, struct object *first, struct object *last) {
    pthread_mutex_lock(&inbox->lock);
    unsigned count = batches(inbox);
    if (count < BATCHES_MOST) {
        last->next = inbox->first;
        inbox->first = first;
        atomic_store_explicit(&inbox->batches, count + 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&inbox->lock);
    return count < BATCHES_MOST;
}

struct object *inbox_take(struct inbox *inbox) {
    if (!batches(inbox))
        return NULL;
    pthread_mutex_lock(&inbox->lock);
    struct object *first = inbox->first;
    inbox->first = NULL;
    atomic_store_explicit(&inbox->batches, 0, memory_order_relaxed);
    pthread_mutex_unlock(&inbox->lock);
    return first;
}
