/* SPDX-License-Identifier: MIT */
/* Collectors walk the list while sinks are added at its end; the mutex serialises changes. Sinks
 * leave it only in spex_sinks_finish(), when the collectors have been joined. So readers need
 * neither a lock nor a grace period. */
#include "collect/sinks.h"

#include <pthread.h>

#include <spex/atomic.h>

/* The first sink, and where the next one is entered. */
static struct spex_sink *sinks, **sinks_end = &sinks;
static pthread_mutex_t sinks_lock = PTHREAD_MUTEX_INITIALIZER;
/* Relaxed: a figure that orders nothing. */
static uint64_t undelivered_records;

/* The sink that `link` leads to; NULL at the end. */
static struct spex_sink *sink_at(struct spex_sink *const *link) {
    return spex_load_acquire(link); /* K1 (K2) */
}

void spex_sinks_add(struct spex_sink *sink) {
    pthread_mutex_lock(&sinks_lock);
    sink->next = NULL;
    spex_store_release(sinks_end, sink); /* K2 (K1): the sink is complete */
    sinks_end = &sink->next;
    pthread_mutex_unlock(&sinks_lock);
}

uint64_t spex_sinks_undelivered(void) {
    return spex_load_relaxed(&undelivered_records);
}

/* A broken sink stays in the list until spex_sinks_finish(), so that its records are counted. */
void spex_sinks_records(const struct spex_record *records, size_t count) {
    for (struct spex_sink *sink = sink_at(&sinks); sink; sink = sink_at(&sink->next)) {
        if (spex_load_relaxed(&sink->broken) || !sink->records(sink, records, count)) {
            spex_store_relaxed(&sink->broken, true);
            spex_fetch_add_relaxed(&undelivered_records, count);
        }
    }
}

/* Broken sinks get no watermarks either. */
void spex_sinks_pass(unsigned collector, uint64_t watermark) {
    for (struct spex_sink *sink = sink_at(&sinks); sink; sink = sink_at(&sink->next)) {
        if (!spex_load_relaxed(&sink->broken) && sink->pass &&
            !sink->pass(sink, collector, watermark))
            spex_store_relaxed(&sink->broken, true);
    }
}

/* Empties the list and returns its first sink. Nobody reads the list. */
static struct spex_sink *sinks_take(void) {
    struct spex_sink *first = sinks;
    sinks = NULL;
    sinks_end = &sinks;
    return first;
}

void spex_sinks_finish(void) {
    pthread_mutex_lock(&sinks_lock);
    for (struct spex_sink *sink = sinks_take(), *next; sink; sink = next) {
        next = sink->next;
        sink->finish(sink);
    }
    pthread_mutex_unlock(&sinks_lock);
}

/* The mutex is held so that the child's list is whole. */
void spex_sinks_fork_prepare(void) {
    pthread_mutex_lock(&sinks_lock);
}

void spex_sinks_fork_parent(void) {
    pthread_mutex_unlock(&sinks_lock);
}

void spex_sinks_fork_child(void) {
    for (struct spex_sink *sink = sinks_take(), *next; sink; sink = next) {
        next = sink->next;
        sink->abandon(sink);
    }
    undelivered_records = 0;
    pthread_mutex_unlock(&sinks_lock);
}
