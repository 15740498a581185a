/* SPDX-License-Identifier: MIT */
/* Collectors walk the list while sinks are added at its end; the mutex serialises changes. Sinks
 * leave it only in spex_sinks_finish(), when the collectors have been joined. So readers need
 * neither a lock nor a grace period. */
#include "collect/sinks.h"

#include <spex/atomic.h>

#include "base/lock.h"

/* Of liburcu, as lists that RCU protects; the end of the collectors' threads is the grace period,
 * so that nothing of its libraries need be loaded. */
static CDS_LIST_HEAD(sinks);
static struct spex_lock sinks_lock = SPEX_LOCK_FREE;
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
    spex_lock_take(&sinks_lock);
    sink->node.next = &sinks;
    sink->node.prev = sinks.prev;
    spex_store_release(&sinks.prev->next, &sink->node); /* K2 (K1): the sink is complete */
    sinks.prev = &sink->node;
    spex_lock_give(&sinks_lock);
}

bool spex_sinks_any(void) {
    return next_of(&sinks);
}

uint64_t spex_sinks_undelivered(void) {
    return spex_load_relaxed(&undelivered_records);
}

/* A broken sink stays in the list until spex_sinks_finish(), so that its records are counted. */
void spex_sinks_records(const struct spex_batch *batch) {
    for (struct spex_sink *sink = next_of(&sinks); sink; sink = next_of(&sink->node)) {
        if (spex_load_relaxed(&sink->broken) || !sink->records(sink, batch)) {
            spex_store_relaxed(&sink->broken, true);
            spex_fetch_add_relaxed(&undelivered_records, batch->count);
        }
    }
}

/* Broken sinks get no watermarks either. */
void spex_sinks_pass(unsigned collector, uint64_t watermark) {
    for (struct spex_sink *sink = next_of(&sinks); sink; sink = next_of(&sink->node)) {
        if (!spex_load_relaxed(&sink->broken) && sink->pass &&
            !sink->pass(sink, collector, watermark))
            spex_store_relaxed(&sink->broken, true);
    }
}

void spex_sinks_dump(const struct spex_stream_dump *dump) {
    for (struct spex_sink *sink = next_of(&sinks); sink; sink = next_of(&sink->node))
        if (!spex_load_relaxed(&sink->broken) && sink->dump)
            sink->dump(sink, dump);
}

/* Relaxed: it only decides how long a collector sleeps. */
bool spex_sinks_prompt(void) {
    for (struct spex_sink *sink = next_of(&sinks); sink; sink = next_of(&sink->node))
        if (spex_load_relaxed(&sink->prompt) && !spex_load_relaxed(&sink->broken))
            return true;
    return false;
}

void spex_sinks_finish(void) {
    struct spex_sink *sink, *next;
    spex_lock_take(&sinks_lock);
    cds_list_for_each_entry_safe (sink, next, &sinks, node) {
        cds_list_del(&sink->node);
        sink->finish(sink);
    }
    spex_lock_give(&sinks_lock);
}

struct spex_lock *spex_sinks_lock(void) {
    return &sinks_lock;
}

void spex_sinks_fork_child(void) {
    struct spex_sink *sink, *next;
    cds_list_for_each_entry_safe (sink, next, &sinks, node) {
        cds_list_del(&sink->node);
        sink->abandon(sink);
    }
    undelivered_records = 0;
}
