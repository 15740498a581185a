/* SPDX-License-Identifier: MIT */
#include "waiting.h"

#include <sched.h>

#include "crew.h"

const char *const waiting_names[] = {"spin", "yield", "block", NULL};

void waiting_init(struct waiting *waiting, enum waiting_strategy strategy) {
    waiting->strategy = strategy;
    atomic_init(&waiting->sleepers, 0);
    pthread_mutex_init(&waiting->lock, NULL);
    pthread_cond_init(&waiting->changed, NULL);
}

void waiting_fini(struct waiting *waiting) {
    pthread_cond_destroy(&waiting->changed);
    pthread_mutex_destroy(&waiting->lock);
}

static void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}

/* Both sides add to the count of sleepers, and so one of them comes first: a sleeper, and then the
 * one who has changed something sees it; or that one, and then the sleeper's attempt sees the
 * change. */
static size_t sleep_for(struct waiting *waiting, size_t (*attempt)(void *), void *argument) {
    size_t result;
    pthread_mutex_lock(&waiting->lock);
    atomic_fetch_add(&waiting->sleepers, 1);
    while (!(result = attempt(argument)) && !crew_ends())
        pthread_cond_wait(&waiting->changed, &waiting->lock);
    atomic_fetch_sub(&waiting->sleepers, 1);
    pthread_mutex_unlock(&waiting->lock);
    return result;
}

size_t waiting_for(struct waiting *waiting, size_t (*attempt)(void *), void *argument) {
    size_t result;
    while (!(result = attempt(argument)) && !crew_ends()) {
        if (waiting->strategy == WAITING_BLOCK)
            return sleep_for(waiting, attempt, argument);
        if (waiting->strategy == WAITING_YIELD)
            sched_yield();
        else
            pause_briefly();
    }
    return result;
}

static bool has_sleepers(struct waiting *waiting) {
    return waiting->strategy == WAITING_BLOCK && atomic_fetch_add(&waiting->sleepers, 0) > 0;
}

void waiting_wake_one(struct waiting *waiting) {
    if (!has_sleepers(waiting))
        return;
    pthread_mutex_lock(&waiting->lock);
    pthread_cond_signal(&waiting->changed);
    pthread_mutex_unlock(&waiting->lock);
}

void waiting_wake_all(struct waiting *waiting) {
    pthread_mutex_lock(&waiting->lock);
    pthread_cond_broadcast(&waiting->changed);
    pthread_mutex_unlock(&waiting->lock);
}
