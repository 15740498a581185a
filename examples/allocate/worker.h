/* SPDX-License-Identifier: MIT */
/* A thread that allocates objects, keeps them for as long as their kind lives, and frees them, or
 * has the next thread free them. */
#ifndef ALLOCATE_WORKER_H
#define ALLOCATE_WORKER_H

#include "inbox.h"
#include "sizes.h"

#define SHORT_LIVED 64 /* they live for so many of their kind, in the order they came in */
#define LONG_LIVED  8192
#define LARGE       16 /* of 64 KiB and more, of which nobody keeps many */

struct worker {
    struct inbox inbox;
    struct inbox *next; /* the next thread's */
    enum mix mix;
    uint32_t remote; /* of 100 objects, so many are freed by the next thread */
    size_t batch;    /* objects that are handed over at a time */
    uint64_t random;
    uint32_t oldest; /* of short_lived */
    struct object *short_lived[SHORT_LIVED];
    struct object *long_lived[LONG_LIVED];
    struct object *large[LARGE];
    struct object *outbox, *outbox_last;
    size_t outbox_count;
};

/* A thread's work, as for crew_add(): the argument is a worker. */
void *worker_run(void *argument);

/* When no thread runs any more: frees all that it has. */
void worker_fini(struct worker *worker);

#endif
