/* SPDX-License-Identifier: MIT */
/* The counters of a thread: opened by the plan (plan.h), reopened when the plan changes, closed at
 * the thread's end.
 *
 * A signal handler may interrupt the thread anywhere and read, open or close the same counter.
 * `busy` and `readers` are plain variables, ordered by compiler fences (handler_fence), since a
 * handler runs on the same thread: while an event is busy, handlers leave it alone; while it has
 * readers, nobody closes it. */
#define _GNU_SOURCE
#include "counters/counters.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <spex/compiler.h>

#include "base/lock.h"
#include "counters/event.h"
#include "counters/plan.h"

/* Number of openings in this process. Source 0 means none. */
static uint32_t openings_count;

/* Threads without the plan's way, and the errno value of the last of them. Relaxed. */
static struct {
    uint64_t threads;
    int err;
} fallbacks[SPEX_COUNTERS];

static const uint64_t always_mapped = 1;
const uint64_t *spex_counters_mapped = &always_mapped;

/* Points spex_counters_mapped to a page that the kernel clears in the child of a fork
 * (MADV_WIPEONFORK). Where that is not possible the flag stays 1, see counters.h. */
void spex_counters_init(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t *flag = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (flag == MAP_FAILED)
        return;
    *flag = 1;
    if (madvise(flag, page, MADV_WIPEONFORK) != 0) {
        munmap(flag, page);
        return;
    }
    /* Another thread may be trying counters under the lock already, for a command that calls while
     * the program starts. */
    spex_lock_take(spex_counters_lock());
    spex_counters_mapped = flag;
    spex_lock_give(spex_counters_lock());
}

void spex_counters_revive(void) {
    if (spex_counters_mapped != &always_mapped)
        *(uint64_t *)spex_counters_mapped = 1;
}

void spex_counters_end(void) {
    void *flag = (void *)(uintptr_t)spex_counters_mapped;
    if (flag == &always_mapped)
        return;
    spex_counters_mapped = &always_mapped;
    munmap(flag, (size_t)sysconf(_SC_PAGESIZE));
}

/* Leaves out 0 when the count goes round. */
static uint32_t source_next(void) {
    uint32_t source;
    do {
        source = spex_fetch_add_relaxed(&openings_count, 1) + 1;
    } while (!source);
    return source;
}

/* Orders accesses against this thread's signal handlers; no instruction. */
static void handler_fence(void) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Releases the event and clears it field by field. `busy` stays set: a whole assignment would clear
 * it for a moment, and a handler could open the event then. */
static void event_reset(struct spex_event *event, enum spex_counter counter) {
    event->word = NULL;
    event->source = 0;
    handler_fence();
    spex_event_release(event);
    if (event->fallback)
        spex_fetch_add_relaxed(&fallbacks[counter].threads, UINT64_MAX);
    event->fallback = false;
    event->events = 0;
    for (int i = 0; i < 2; i++) {
        event->ids[i] = 0;
        event->pages[i] = NULL;
    }
}

/* Closes the event at the end of its use. Handlers that come meanwhile leave it alone. */
static void event_close(struct spex_event *event, enum spex_counter counter) {
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    event->busy = true;
    handler_fence();
    event_reset(event, counter);
    handler_fence();
    event->busy = false;
    pthread_setcancelstate(cancel_state, NULL);
}

/* Opens the event in the plan's way, or in the next one that works. SPEX_WAY_NONE always works. */
static void event_open(struct spex_event *event, enum spex_counter counter,
                       const struct spex_counter_plan *plan) {
    const enum spex_way *way = spex_ways_of(counter);
    while (*way != SPEX_WAY_NONE && *way != plan->way)
        way++;
    for (;; way++) {
        const char *step;
        if (*way != plan->way && *way != SPEX_WAY_NONE && !spex_way_allowed(*way))
            continue;
        int err = spex_event_open(event, plan, *way, &step);
        if (!err)
            break;
        spex_store_relaxed(&fallbacks[counter].err, -err);
    }
    event->fallback = *way != plan->way;
    if (event->fallback)
        spex_fetch_add_relaxed(&fallbacks[counter].threads, 1);
}

/* Copies all fields with `busy` set. `word` and `source`, by which readers know an open event, are
 * written last. */
static void event_publish(struct spex_event *event, struct spex_event opened) {
    const uint64_t *word = opened.word;
    opened.word = NULL;
    opened.busy = true;
    *event = opened;
    handler_fence();
    event->source = source_next();
    event->word = word;
    handler_fence();
    event->busy = false;
}

/* Does nothing if the event has readers: then the caller is a signal handler that has
 * interrupted them. Opens into a copy, so that the event's fields are never half-way while
 * `busy` is not set. */
SPEX_COLD bool spex_counter_open(struct spex_thread_counters *counters, enum spex_counter counter) {
    struct spex_event *event = &counters->events[counter];
    if (!*spex_counters_mapped || event->busy || event->readers ||
        spex_counter_ready(counters, counter))
        return false;
    int saved = errno, cancel_state;
    /* It closes descriptors, where a thread can be cancelled. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    event->busy = true;
    handler_fence();
    event_reset(event, counter);
    struct spex_counter_plan plan;
    struct spex_event opened = {0};
    uint32_t generation = spex_counter_plan_read(counter, &plan);
    event_open(&opened, counter, &plan);
    opened.generation = generation;
    event_publish(event, opened);
    pthread_setcancelstate(cancel_state, NULL);
    errno = saved;
    return true;
}

/* errno is restored: probes must not change it for the program. */
void spex_counter_read_slowly(struct spex_thread_counters *counters, enum spex_counter counter,
                              struct spex_reading *reading) {
    struct spex_event *event = &counters->events[counter];
    *reading = (struct spex_reading){0};
    if (event->busy || !spex_counter_ready(counters, counter))
        return;
    int saved = errno;
    event->readers++;
    handler_fence();
    spex_event_read(event, counter, reading);
    bool intact = reading->available || spex_event_intact(event);
    handler_fence();
    event->readers--;
    /* The program has closed the descriptor. The next probe opens another. */
    if (!intact && !event->readers)
        event_close(event, counter);
    errno = saved;
}

/* The value that the event would have if it had been counted all the time. */
static uint64_t extrapolated(uint64_t value, uint64_t enabled, uint64_t running) {
    return (uint64_t)((double)value * (double)enabled / (double)running + 0.5);
}

bool spex_counter_delta(const struct spex_reading *begin, const struct spex_reading *end,
                        uint64_t values[2], bool *scaled) {
    *scaled = false;
    if (!begin->available || !end->available || begin->source != end->source)
        return false;
    for (int i = 0; i < 2; i++)
        values[i] = end->values[i] - begin->values[i];
    /* Where both times are 0 or equal, the event was counted all the time. */
    if (end->enabled == end->running)
        return true;
    if (!begin->enabled)
        return false;
    uint64_t enabled = end->enabled - begin->enabled, running = end->running - begin->running;
    if (enabled == running)
        return true;
    if (!running)
        return false;
    for (int i = 0; i < 2; i++)
        values[i] = extrapolated(values[i], enabled, running);
    *scaled = true;
    return true;
}

void spex_counters_close(struct spex_thread_counters *counters) {
    int saved = errno;
    for (enum spex_counter counter = 0; counter < SPEX_COUNTERS; counter++)
        event_close(&counters->events[counter], counter);
    errno = saved;
}

/* Threads that read in a worse way now: closing the counter takes a thread off the number. */
uint64_t spex_counter_fallbacks(enum spex_counter counter) {
    return spex_load_relaxed(&fallbacks[counter].threads);
}

int spex_counter_fallback_error(enum spex_counter counter) {
    return spex_load_relaxed(&fallbacks[counter].err);
}

void spex_counter_fallbacks_forget(void) {
    for (enum spex_counter counter = 0; counter < SPEX_COUNTERS; counter++)
        spex_store_relaxed(&fallbacks[counter].threads, 0);
}

/* Clears whole events: the child has one thread, and its handlers see the flag that the kernel
 * has cleared. */
void spex_thread_counters_fork_child(struct spex_thread_counters *counters) {
    int saved = errno;
    for (enum spex_counter counter = 0; counter < SPEX_COUNTERS; counter++) {
        struct spex_event *event = &counters->events[counter];
        spex_event_abandon(event);
        *event = (struct spex_event){0};
    }
    errno = saved;
}
