/* SPDX-License-Identifier: MIT */
#include "inbox.h"

#define OBJECTS_MOST 8192 /* twice the largest batch */

void inbox_init(struct inbox *inbox) {
    pthread_mutex_init(&inbox->lock, NULL);
    inbox->first = NULL;
    atomic_init(&inbox->count, 0);
}

static size_t count_now(struct inbox *inbox) {
    return atomic_load_explicit(&inbox->count, memory_order_relaxed);
}

bool inbox_put(struct inbox *inbox, struct object *first, struct object *last, size_t count) {
    pthread_mutex_lock(&inbox->lock);
    size_t sum = count_now(inbox) + count;
    if (sum <= OBJECTS_MOST) {
        last->next = inbox->first;
        inbox->first = first;
        atomic_store_explicit(&inbox->count, sum, memory_order_relaxed);
    }
    pthread_mutex_unlock(&inbox->lock);
    return sum <= OBJECTS_MOST;
}

struct object *inbox_take(struct inbox *inbox) {
    if (!count_now(inbox))
        return NULL;
    pthread_mutex_lock(&inbox->lock);
    struct object *first = inbox->first;
    inbox->first = NULL;
    atomic_store_explicit(&inbox->count, 0, memory_order_relaxed);
    pthread_mutex_unlock(&inbox->lock);
    return first;
}
