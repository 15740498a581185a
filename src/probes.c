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
 * period takes effect at once, and a weight always covers every execution since the last record. */
static uint32_t sample(struct spex_thread *thread, const struct spex_site *site) {
    uint32_t period = spex_load_relaxed(&site->control) & SPEX_CONTROL_PERIOD_MASK;
    uint32_t *executed = &thread->executed[site->index];
    if (++*executed < period)
        return 0;
    uint32_t weight = *executed;
    *executed = 0;
    return weight;
}

struct spex_span spex_span_begin(struct spex_site *site) {
    struct spex_span span = {0, 0};
    struct spex_thread *thread = spex_thread_current();
    if (thread)
        span.weight = sample(thread, site);
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
