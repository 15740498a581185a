/* SPDX-License-Identifier: MIT */
/* The recording half of the probes: reached only where a site's control word is not 0. */
#include <spex/atomic.h>
#include <spex/probe.h>

#include "collector.h"
#include "probes.h"
#include "rings.h"
#include "threads.h"

int spex_probes_prepare(size_t ring_records) {
    int err = spex_threads_init();
    return err ? err : spex_rings_init(ring_records);
}

/* Counts this execution; what a record made of it would stand for, or 0 to make none. A changed
 * period takes effect at once, and a weight covers every execution since the last record, those
 * of an ended thread that had this state before included. */
static uint32_t sample(uint32_t *executed, uint32_t control) {
    uint32_t generation = control & ~SPEX_CONTROL_PERIOD_MASK;
    uint32_t count = 1;
    if ((*executed & ~SPEX_CONTROL_PERIOD_MASK) == generation)
        count += *executed & SPEX_CONTROL_PERIOD_MASK;
    if (count < (control & SPEX_CONTROL_PERIOD_MASK)) {
        *executed = generation | count;
        return 0;
    }
    *executed = generation;
    return count;
}

struct spex_span spex_span_begin(struct spex_site *site) {
    struct spex_span span = {0, 0};
    uint32_t control = spex_load_acquire(&site->control); /* P1 (P2 in sites.c) */
    if (!control)
        return span;
    struct spex_thread *thread = spex_thread_current();
    if (thread)
        span.weight = sample(&thread->executed[site->index], control);
    if (span.weight)
        span.begin_ticks = spex_ticks();
    return span;
}

static void record(const struct spex_site *site, uint32_t type, struct spex_span span, uint64_t now,
                   const uint64_t *values, size_t count) {
    const struct spex_thread *thread = spex_thread_current();
    if (thread && spex_rings_push(site->index, type, (uint32_t)span.weight, thread->thread_id, now,
                                  values, count))
        spex_collectors_alarm();
}

void spex_cnt_end(struct spex_site *site, struct spex_span span) {
    record(site, SPEX_CNT, span, spex_ticks(), NULL, 0);
}

void spex_lat_end(struct spex_site *site, struct spex_span span) {
    uint64_t now = spex_ticks();
    uint64_t ticks = now - span.begin_ticks;
    record(site, SPEX_LAT, span, now, &ticks, 1);
}

void spex_tpt_end(struct spex_site *site, struct spex_span span) {
    uint64_t now = spex_ticks();
    uint64_t ticks = now - span.begin_ticks;
    record(site, SPEX_TPT, span, now, &ticks, 1);
}

void spex_snapshot(struct spex_site *site, struct spex_span span, const uint64_t *values,
                   size_t count) {
    record(site, SPEX_SNAPSHOT, span, span.begin_ticks, values, count);
}
