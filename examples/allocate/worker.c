/* SPDX-License-Identifier: MIT */
#include "worker.h"

#include <spex/probe.h>

#include "crew.h"
#include "random.h"

#define LARGE_LEAST       ((size_t)64 << 10)
#define SHORT_LIVED_SHARE 80 /* of 100 objects that stay with their thread */

static void receive(struct worker *worker) {
    struct object *first = inbox_take(&worker->inbox);
    if (!first)
        return;
    SPEX_LAT_SCOPE("receive");
    objects_free(first);
}

/* A thread that does not get to its inbox must not hold up another: what it has no room for is
 * freed here. */
static void hand_over(struct worker *worker, struct object *object) {
    object->next = worker->outbox;
    worker->outbox = object;
    if (!worker->outbox_count++)
        worker->outbox_last = object;
    if (worker->outbox_count < worker->batch)
        return;
    if (!inbox_put(worker->next, worker->outbox, worker->outbox_last, worker->outbox_count))
        objects_free(worker->outbox);
    worker->outbox = NULL;
    worker->outbox_count = 0;
}

static void replace(struct object **place, struct object *object) {
    free(*place);
    *place = object;
}

/* Some objects are for another thread; most others die young, in the order of their births; some
 * live on, and end in any order. */
static void keep(struct worker *worker, struct object *object) {
    uint32_t lot = random_below(&worker->random, 100);
    if (object->size >= LARGE_LEAST)
        replace(&worker->large[random_below(&worker->random, LARGE)], object);
    else if (lot < worker->remote)
        hand_over(worker, object);
    else if (random_below(&worker->random, 100) < SHORT_LIVED_SHARE)
        replace(&worker->short_lived[worker->oldest++ % SHORT_LIVED], object);
    else
        replace(&worker->long_lived[random_below(&worker->random, LONG_LIVED)], object);
}

/* One object is allocated and used, and another freed. */
static void operate(struct worker *worker) {
    struct request request = sizes_next(worker->mix, &worker->random);
    SPEX_TPT_SCOPE("operation", 100);
    SPEX_LAT_SCOPE("operation", 100);
    keep(worker, object_new(&request));
}

void *worker_run(void *argument) {
    struct worker *worker = argument;
    while (!crew_ends()) {
        receive(worker);
        operate(worker);
    }
    return NULL;
}

static void free_all(struct object **objects, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(objects[i]);
}

void worker_fini(struct worker *worker) {
    objects_free(inbox_take(&worker->inbox));
    objects_free(worker->outbox);
    free_all(worker->short_lived, SHORT_LIVED);
    free_all(worker->long_lived, LONG_LIVED);
    free_all(worker->large, LARGE);
}
