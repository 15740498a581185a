/* SPDX-License-Identifier: MIT */
/* What producers and consumers do with the queue between them. */
#ifndef QUEUE_EXCHANGE_H
#define QUEUE_EXCHANGE_H

#include <stdint.h>

#include "queue.h"
#include "waiting.h"

#define BATCH_MOST 1024

struct exchange {
    const struct queue_kind *kind;
    struct queue *queue;
    struct waiting room, items;     /* where producers wait, and consumers */
    size_t batch;                   /* items that a thread puts or takes at a time, at most */
    uint64_t make_steps, use_steps; /* of work on each item */
};

struct member {
    struct exchange *exchange;
    uint64_t random;
};

/* Threads' work, as for crew_add(); the argument is a struct member. */
void *exchange_produce(void *argument);
void *exchange_consume(void *argument);

/* After the crew's end. */
void exchange_wake_all(struct exchange *exchange);

#endif
