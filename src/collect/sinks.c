/* SPDX-License-Identifier: MIT */
/* Collectors walk the list as RCU readers, and the mutex serialises changes of it. Sinks leave only
 * one by one in spex_sinks_finish(), after a grace period each. */
#include "collect/sinks.h"

#include <pthread.h>
#include <urcu/rculist.h>
#include <urcu/urcu-bp.h>

#include <spex/atomic.h>

/* liburcu's "bulletproof" flavour: collectors need not register, and it supports fork. */
static CDS_LIST_HEAD(sinks);
static pthread_mutex_t sinks_lock = PTHREAD_MUTEX_INITIALIZER;
/* Relaxed: a figure that orders nothing. */
static uint64_t undelivered_records;

/* The sink behind `node`, which is the list's head or a sink's; NULL at the end. A sink may be
 * added while collectors walk the list. So this is an acquire load, which ThreadSanitizer knows,
 * other than the primitives of liburcu. */
static struct spex_sink *next_of(const struct cds_list_head *node) {
    struct cds_list_head *next = spex_load_acquire(&node->next); /* K1 (K2) */
    return next == &sinks ? NULL : cds_list_entry(next, struct spex_sink, node);
}

void spex_sinks_add(struct spex_sink *sink) {
    pthread_mutex_lock(&sinks_lock);
    sink->node.next = &sinks;
    sink->node.prev = sinks.prev;
    spex_store_release(&sinks.prev->next, &sink->node); /* K2 (K1): the sink is complete */
    sinks.prev = &sink->node;
    pthread_mutex_unlock(&sinks_lock);
}

uint64_t spex_sinks_undelivered(void) {
    return spex_load_relaxed(&undelivered_records);
}

/* A broken sink stays in the list until spex_sinks_finish(), so that its records are counted. */
void spex_sinks_records(const struct spex_record *records, size_t count) {
    urcu_bp_read_lock();
    for (struct spex_sink *sink = next_of(&sinks); sink; sink = next_of(&sink->node)) {
        if (spex_load_relaxed(&sink->broken) || !sink->records(sink, records, count)) {
            spex_store_relaxed(&sink->broken, true);
            spex_fetch_add_relaxed(&undelivered_records, count);
        }
    }
    urcu_bp_read_unlock();
}

/* Broken sinks get no watermarks either. */
void spex_sinks_pass(unsigned collector, uint64_t watermark) {
    urcu_bp_read_lock();
    for (struct spex_sink *sink = next_of(&sinks); sink; sink = next_of(&sink->node)) {
        if (!spex_load_relaxed(&sink->broken) && sink->pass &&
            !sink->pass(sink, collector, watermark))
            spex_store_relaxed(&sink->broken, true);
    }
    urcu_bp_read_unlock();
}

void spex_sinks_finish(void) {
    struct spex_sink *sink, *next;
    pthread_mutex_lock(&sinks_lock);
    cds_list_for_each_entry_safe (sink, next, &sinks, node) {
        cds_list_del_rcu(&sink->node);
        urcu_bp_synchronize_rcu();
        sink->finish(sink);
    }
    pthread_mutex_unlock(&sinks_lock);
}

/* liburcu must be called around a fork, since the child has none of the parent's other readers.
 * The mutex is held so that the child's list is whole. */
void spex_sinks_fork_prepare(void) {
    pthread_mutex_lock(&sinks_lock);
    urcu_bp_before_fork();
}

void spex_sinks_fork_parent(void) {
    urcu_bp_after_fork_parent();
    pthread_mutex_unlock(&sinks_lock);
}

/* The list becomes empty without a grace period: the child has no other thread that could read
 * it. */
void spex_sinks_fork_child(void) {
    struct spex_sink *sink, *next;
    urcu_bp_after_fork_child();
    cds_list_for_each_entry_safe (sink, next, &sinks, node) {
        sink->abandon(sink);
    }
    CDS_INIT_LIST_HEAD(&sinks);
    undelivered_records = 0;
    pthread_mutex_unlock(&sinks_lock);
}
