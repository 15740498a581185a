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
    struct object *first; /* under the lock, as `batches` is written */
    atomic_uint batches;  /* read without it, relaxed: a hint that there is something */
};

void inbox_init(struct inbox *inbox);

/* A list from its first to its last object. False, and nothing happens, when the inbox is full. */
bool inbox_put(struct inbox *inbox, struct object *first, struct object *last);

/* The list of all that there is. */
struct object *inbox_take(struct inbox *inbox);

#endif
