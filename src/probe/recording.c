/* SPDX-License-Identifier: MIT */
/* The seldom used parts of recording. They are functions of their own, so that the callers in
 * recording.h need no stack frame. */
#include "probe/recording.h"

/* A record that was not committed goes into an atomic ring. Either way, a ring that is due alarms a
 * collector. */
void spex_put_finish(const struct spex_rings *rings, unsigned type_ring, uint64_t committed,
                     const uint64_t *words, size_t count) {
    struct spex_thread *thread = rings == &spex_rings ? spex_thread_current() : NULL;
    if (committed ? spex_rings_due(rings, type_ring)
                  : spex_rings_push_atomic(rings, type_ring, words, count))
        spex_doorbell_alarm();
    if (thread)
        spex_nesting_look(thread, words[0]);
}

void spex_put0_finish(const struct spex_rings *rings, unsigned type_ring, uint64_t committed,
                      uint64_t now, uint64_t header) {
    spex_put_finish(rings, type_ring, committed, (uint64_t[]){now, header}, 2);
}

void spex_put1_finish(const struct spex_rings *rings, unsigned type_ring, uint64_t committed,
                      uint64_t now, uint64_t header, uint64_t value) {
    spex_put_finish(rings, type_ring, committed, (uint64_t[]){now, header, value}, 3);
}

struct spex_thread *spex_thread_attach_at_end(const struct spex_site *site, uint32_t sampled) {
    struct spex_thread *thread = spex_on_since(site, sampled) ? spex_thread_attach() : NULL;
    if (thread || !spex_on_since(site, sampled))
        return thread;
    bool counted = sampled & SPEX_SAMPLE_NOTE;
    spex_threads_count_stateless(site->index, counted ? 0 : sampled & SPEX_CONTROL_PERIOD_MASK);
    return NULL;
}

void spex_record_count_noted(const struct spex_rings *rings, const struct spex_site *site,
                             uint32_t sampled, uint64_t now) {
    struct spex_thread *thread = spex_thread_at_end(site, sampled);
    if (spex_weight_left(thread, site, sampled))
        spex_put0(rings, SPEX_CNT, now, spex_header(thread, site, sampled, 0));
}

void spex_record_ticks_noted(const struct spex_rings *rings, uint32_t type,
                             const struct spex_site *site, uint32_t sampled, uint64_t begin,
                             uint64_t now) {
    struct spex_thread *thread = spex_thread_at_end(site, sampled);
    spex_noted_end(thread, site, sampled, now);
    if (spex_weight_left(thread, site, sampled))
        spex_put1(rings, type, now,
                  spex_header(thread, site, sampled, spex_opening(thread, begin, now)),
                  now - begin);
}

void spex_span_open(struct spex_open_spans *spans, const struct spex_site *site, uint32_t sampled,
                    uint64_t key) {
    struct spex_thread *thread = spex_thread_current();
    struct spex_open_span before, span = {.key = key, .probe = spex_load_relaxed(&site->probe_id)};
    if (spex_open_spans_take(spans, span.probe, key, &before) && spex_open_span_counts(&before))
        spex_fetch_add_relaxed(&spans->counts[spex_packed_site(before.header)].abandoned, 1);
    if (!(sampled & SPEX_CONTROL_PERIOD_MASK)) {
        spex_open_spans_leave(spans, span.probe);
        return;
    }
    /* Before the site's control word is read again: if that is still the one of `sampled`, the site
     * has not been switched in between. */
    const uint32_t *switched = &spex_site_switched[site->index];
    span.switched = spex_load_acquire(switched); /* V2 (V1 in control_word.c): the word before */
    if (!(span.switched & 1) || !spex_weight_left(thread, site, sampled))
        return;
    span.header = spex_header(thread, site, sampled, 0) &
                  ~((uint64_t)SPEX_PACKED_THREAD_MASK << SPEX_PACKED_THREAD_SHIFT);
    if (!spex_open_spans_put(spans, &span))
        spex_threads_note_unrecorded(1);
}

/* END of a SPAN that has begun, on whatever thread. The clocks of two CPUs may differ by a tick or
 * two. */
static void record_span(const struct spex_rings *rings, const struct spex_open_span *span,
                        uint64_t now) {
    struct spex_thread *thread = spex_open_span_counts(span) ? spex_thread_attach() : NULL;
    if (!thread) {
        spex_threads_note_unrecorded(spex_open_span_counts(span));
        return;
    }
    uint64_t ticks = now > span->begin ? now - span->begin : 0;
    uint32_t marks = spex_opening(thread, span->begin, now);
    uint64_t header = span->header | (uint64_t)thread->number << SPEX_PACKED_THREAD_SHIFT;
    spex_put(rings, SPEX_SPAN, now, header | marks, (const uint64_t[]){ticks, span->key}, 2);
}

void spex_span_close(const struct spex_rings *rings, struct spex_open_spans *spans,
                     const struct spex_site *site, uint64_t key) {
    uint32_t probe = spex_load_relaxed(&site->probe_id);
    struct spex_open_span span;
    uint64_t now = spex_open_spans_take(spans, probe, key, &span);
    if (now)
        record_span(rings, &span, now);
    else
        spex_span_unmatched(spans, site, probe);
}
