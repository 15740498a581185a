/* SPDX-License-Identifier: MIT */
/* A lock that knows its owner. A build for debugging aborts where the owner takes the lock again,
 * which otherwise waits for ever. The owner is the same in the child of a fork, whose thread has
 * the locks that the parent took before. */
#ifndef SPEX_BASE_LOCK_H
#define SPEX_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <spex/atomic.h>

struct spex_lock {
    pthread_mutex_t mutex;
    /* Identifies the owning thread; NULL: there is none. Written by the owner alone. */
    const void *owner;
};

/* The initial value of a lock. */
#define SPEX_LOCK_FREE                                                                             \
    { .mutex = PTHREAD_MUTEX_INITIALIZER }

/* Identifies the calling thread, as long as it lives. */
static inline const void *spex_lock_self(void) {
    return (const void *)pthread_self();
}

/* Whether the calling thread has the lock. Relaxed: only the thread itself writes its name. */
static inline bool spex_lock_is_mine(const struct spex_lock *lock) {
    return spex_load_relaxed(&lock->owner) == spex_lock_self();
}

/* A fault of the library. */
_Noreturn static inline void spex_lock_misused_(const char *what) {
    fprintf(stderr, "spex: %s\n", what);
    abort();
}

static inline void spex_lock_took_(struct spex_lock *lock) {
    spex_store_relaxed(&lock->owner, spex_lock_self());
}

static inline void spex_lock_gives_(struct spex_lock *lock) {
#ifndef NDEBUG
    if (!spex_lock_is_mine(lock))
        spex_lock_misused_("a lock is given back that this thread does not have");
#endif
    spex_store_relaxed(&lock->owner, NULL);
}

static inline void spex_lock_take(struct spex_lock *lock) {
#ifndef NDEBUG
    if (spex_lock_is_mine(lock))
        spex_lock_misused_("a lock is taken again by the thread that has it");
#endif
    pthread_mutex_lock(&lock->mutex);
    spex_lock_took_(lock);
}

/* For what a handler of a fork may call while its thread has the lock. Returns whether the thread did
 * not have it, and is to give it back. */
static inline bool spex_lock_take_unless_mine(struct spex_lock *lock) {
    bool mine = spex_lock_is_mine(lock);
    if (!mine)
        spex_lock_take(lock);
    return !mine;
}

/* For a thread for whose end the lock's owner may be waiting: tries for 20 ms, and then gives
 * up. */
bool spex_lock_take_soon(struct spex_lock *lock);

/* False: a thread has the lock. */
static inline bool spex_lock_try(struct spex_lock *lock) {
    bool taken = pthread_mutex_trylock(&lock->mutex) == 0;
    if (taken)
        spex_lock_took_(lock);
    return taken;
}

static inline void spex_lock_give(struct spex_lock *lock) {
    spex_lock_gives_(lock);
    pthread_mutex_unlock(&lock->mutex);
}

/* Makes the lock one that nobody has: a new one, or that of the child of a fork. One that this
 * thread has is given back, as ThreadSanitizer knows of it. */
static inline void spex_lock_reset(struct spex_lock *lock) {
    if (spex_lock_is_mine(lock))
        spex_lock_give(lock);
    *lock = (struct spex_lock)SPEX_LOCK_FREE;
}

#endif
