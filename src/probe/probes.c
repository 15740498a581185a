/* SPDX-License-Identifier: MIT */
/* The functions that the macros of spex/probe.h and spex/kernel.h call. They are called only while
 * a site is on. Each is a call of an inline function of recording.h with the process's rings, so
 * that calibration can measure the same code with other rings. */
#include <spex/atomic.h>
#include <spex/kernel.h>

#include "probe/probes.h"
#include "probe/recording.h"
#include "probe/threads.h"
#include "probe/type_setup.h"
#include "site/registry.h"

/* Programs refer to these functions weakly. A weak reference does not make a linker take an object
 * out of a static library; these strong ones do. */
__attribute__((used)) static const struct {
    int (*set)(unsigned pcid, uint64_t event, uint64_t mask);
    int (*set_name)(unsigned pcid, const char *name);
} weakly_referred = {spex_perfcntr_set, spex_perfcntr_set_name};

int spex_probes_prepare(size_t ring_records, unsigned ring_cpus, enum spex_commit commit,
                        bool calibrate) {
    int err = spex_threads_init();
    spex_type_setup_begin(calibrate);
    return err ? err : spex_rings_init(ring_records, ring_cpus, commit);
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

void spex_span_begin(struct spex_site *site, uint32_t weight, uint64_t key) {
    spex_record_span_begin(&spex_open_spans, site, weight, key);
}

/* The acquire makes the rings and the table visible, as that of spex_sample does at BEGIN. A site that
 * is called here has been off until now: the span's BEGIN has opened nothing. */
void spex_span_end(struct spex_site *site, uint64_t key) {
    uint32_t control = spex_load_acquire(&site->control); /* P1 (P2 in control_word.c) */
    if (SPEX_UNLIKELY(control == SPEX_CONTROL_CALLED))
        spex_site_answer_call(site);
    else if (control)
        spex_record_span_end(&spex_rings, &spex_open_spans, site, key);
}

void spex_kernel_end(struct spex_site *site, uint32_t weight, uint32_t context, uint64_t begin,
                     uint64_t now, const uint64_t *parameters) {
    spex_record_kernel(&spex_rings, site, weight, context, begin, now, parameters);
}
