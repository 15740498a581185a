/* SPDX-License-Identifier: MIT */
/* Waiting for what another thread brings about: by trying again at once, after yielding the
 * processor, or when that thread has said that something has changed. */
#ifndef QUEUE_WAITING_H
#define QUEUE_WAITING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum waiting_strategy { WAITING_SPIN, WAITING_YIELD, WAITING_BLOCK };

extern const char *const waiting_names[]; /* ends with NULL */

/* A place to wait at. */
struct waiting {
    enum waiting_strategy strategy;
    _Alignas(64) atomic_uint sleepers;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

void waiting_init(struct waiting *waiting, enum waiting_strategy strategy);
void waiting_fini(struct waiting *waiting);

/* Until `attempt` gives something else than 0, or crew_ends(); what it gave. */
size_t waiting_for(struct waiting *waiting, size_t (*attempt)(void *), void *argument);

/* After something was changed that attempts may be waiting for: one of them, or all. */
void waiting_wake_one(struct waiting *waiting);
void waiting_wake_all(struct waiting *waiting);

#endif
