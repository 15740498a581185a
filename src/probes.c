/* SPDX-License-Identifier: MIT */
/* The recording half of the probes: reached only where a site's control word is not 0. */
#include <spex/atomic.h>
#include <spex/probe.h>

#include "preparation.h"
#include "probes.h"
#include "recording.h"
#include "threads.h"

/* Takes its file out of an archive, as spex_probes_prepare does this one: nothing else in the library
 * refers to it. */
__attribute__((used)) static int (*const perfcntr_set)(unsigned, uint64_t,
                                                       uint64_t) = spex_perfcntr_set;

int spex_probes_prepare(const struct spex_settings *settings) {
    int err = spex_preparation_settings(settings);
    err = err ? err : spex_threads_init();
    return err ? err
               : spex_rings_init(settings->ring_records, settings->ring_cpus, settings->commit);
}

/* What spex_sample_ in probe.h leaves over: a thread's first execution of a site that is on, and the
 * first of a generation. An ended thread's count goes on in the thread that has its state now, so
 * that weights cover every execution. */
uint32_t spex_sample(struct spex_site *site) {
    uint32_t control = spex_load_acquire(&site->control); /* P1 (P2 in sites.c) */
    if (!control)
        return 0;
    struct spex_thread *thread = spex_thread_attach();
    if (!thread)
        return 0;
    uint32_t *executed = &thread->executed[site->index];
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

void spex_cnt_end(struct spex_site *site, uint32_t weight, uint64_t now) {
    spex_record_count(&spex_rings, site, weight, now);
}

void spex_lat_end(struct spex_site *site, uint32_t weight, uint64_t begin, uint64_t now) {
    spex_record_ticks(&spex_rings, SPEX_LAT, site, weight, begin, now);
}

void spex_tpt_end(struct spex_site *site, uint32_t weight, uint64_t begin, uint64_t now) {
    spex_record_ticks(&spex_rings, SPEX_TPT, site, weight, begin, now);
}

void spex_snapshot(struct spex_site *site, uint32_t weight, uint64_t now, const uint64_t *values) {
    spex_record_snapshot(&spex_rings, site, weight, now, values);
}

struct spex_span spex_flt_begin(uint32_t weight) {
    return spex_events_begin(SPEX_COUNTER_FAULTS, weight);
}

void spex_flt_end(struct spex_site *site, struct spex_span span) {
    spex_record_events(&spex_rings, SPEX_FLT, SPEX_COUNTER_FAULTS, site, span);
}

struct spex_span spex_ctxsw_begin(uint32_t weight) {
    return spex_events_begin(SPEX_COUNTER_SWITCHES, weight);
}

void spex_ctxsw_end(struct spex_site *site, struct spex_span span) {
    spex_record_events(&spex_rings, SPEX_CTXSW, SPEX_COUNTER_SWITCHES, site, span);
}

void spex_counter_begin(struct spex_site *site, struct spex_counter_span *span) {
    spex_counters_begin(site, span);
}

void spex_counter_end(struct spex_site *site, uint32_t weight, struct spex_counter_span *span) {
    spex_record_counters(&spex_rings, site, weight, span);
}
