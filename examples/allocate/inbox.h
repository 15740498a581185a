/* SPDX-License-Identifier: MIT */
/* Objects that other threads have handed to one: it frees them. */
#ifndef ALLOCATE_INBOX_H
#define ALLOCATE_INBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "object.h"

struct inbox {
    _Alignas(64) pthread_mutex_t lock;
    struct object *first; /* under the lock, as `count` is written */
    atomic_size_t count;  /* read without it, relaxed: a hint that there is something */
};

void inbox_init(struct inbox *inbox);

/* A list of so many objects from the first to the last. False, and nothing happens, when there is
 * no room. */
bool inbox_put(struct inbox *inbox, struct object *first, struct object *last, size_t count);

/* The list of all that there is. */
struct object *inbox_take(struct inbox *inbox);

#endif
