/* SPDX-License-Identifier: MIT */
/* What a probe does that makes a record, from its BEGIN to the ring. Inline, since it is most of
 * what a record costs; calibration measures the same code on rings of its own. What is seldom
 * done is called, at the end, so that the rest needs no frame (recording.c). */
#ifndef SPEX_PROBE_RECORDING_H
#define SPEX_PROBE_RECORDING_H

#include <string.h>

#include <spex/kernel.h>

#include "counters/counters.h"
#include "probe/threads.h"
#include "ring/doorbell.h"
#include "ring/probe_type.h"
#include "ring/record_layout.h"
#include "ring/rings.h"

/* In a span's openings: the counter could not be read at BEGIN. */
#define SPEX_UNREADABLE UINT32_MAX

/* The rest of a push, once every so many records, or where there is no restartable sequence.
 * `committed`: what the push has returned. */
void spex_put_finish(const struct spex_rings *rings, unsigned type_ring, uint64_t committed,
                     const uint64_t *words, size_t count);
void spex_put0_finish(const struct spex_rings *rings, unsigned type_ring, uint64_t committed,
                      uint64_t now, uint64_t header);
void spex_put1_finish(const struct spex_rings *rings, unsigned type_ring, uint64_t committed,
                      uint64_t now, uint64_t header, uint64_t value);

/* A record with no, one, and several values. */
static inline void spex_put0(const struct spex_rings *rings, uint32_t type, uint64_t now,
                             uint64_t header) {
    unsigned ring = spex_probe_type_ring(type);
    spex_rseq_announce();
    uint64_t committed = spex_rseq_push2(&rings->rseq[ring], now, header);
    if (SPEX_UNLIKELY((committed & rings->look) == 0))
        spex_put0_finish(rings, ring, committed, now, header);
}

static inline void spex_put1(const struct spex_rings *rings, uint32_t type, uint64_t now,
                             uint64_t header, uint64_t value) {
    unsigned ring = spex_probe_type_ring(type);
    spex_rseq_announce();
    uint64_t committed = spex_rseq_push3(&rings->rseq[ring], now, header, value);
    if (SPEX_UNLIKELY((committed & rings->look) == 0))
        spex_put1_finish(rings, ring, committed, now, header, value);
}

static inline void spex_put(const struct spex_rings *rings, uint32_t type, uint64_t now,
                            uint64_t header, const uint64_t *values, size_t count) {
    unsigned ring = spex_probe_type_ring(type);
    spex_rseq_announce();
    uint64_t committed = spex_rseq_push_n(&rings->rseq[ring], now, header, values, count);
    if (SPEX_UNLIKELY((committed & rings->look) == 0)) {
        uint64_t words[SPEX_RECORD_WORDS_MAX] = {now, header};
        memcpy(words + SPEX_HEADER_WORDS, values, count * sizeof(*values));
        spex_put_finish(rings, ring, committed, words, SPEX_HEADER_WORDS + count);
    }
}

/* The ends of the types. `sampled` is what the BEGIN was told by spex_sample_, `weight` below the
 * generation. */

/* Whether the site has been on ever since it had the generation of `sampled`. */
static inline bool spex_on_since(const struct spex_site *site, uint32_t sampled) {
    uint32_t control = spex_load_relaxed(&site->control);
    uint32_t changes = spex_load_relaxed(&site->changes);
    if (!control)
        return false;
    if (SPEX_LIKELY(!((control ^ sampled) & SPEX_CONTROL_GENERATION_MASK)))
        return true;
    uint32_t age = (sampled >> SPEX_CONTROL_GENERATION_SHIFT) + SPEX_CONTROL_GENERATIONS -
                   spex_load_relaxed(&site->on_since);
    return age % SPEX_CONTROL_GENERATIONS <= changes;
}

/* What a record is to stand for; 0: make none, for the site has been switched off since. So it
 * has in the child of a fork that ends an execution begun in the parent, where it is recorded
 * too. */
static inline uint32_t spex_weight_left(struct spex_thread *thread, const struct spex_site *site,
                                        uint32_t sampled) {
    uint32_t weight = sampled & SPEX_CONTROL_PERIOD_MASK;
    if (!thread || !spex_on_since(site, sampled))
        return 0;
    if (SPEX_LIKELY(!(sampled & SPEX_SAMPLE_NOTE)))
        spex_own_add(&thread->countdowns[site->index].total, weight);
    return weight;
}

/* The header of its record. */
static inline uint64_t spex_header(const struct spex_thread *thread, const struct spex_site *site,
                                   uint32_t sampled, uint32_t marks) {
    if (SPEX_UNLIKELY(sampled & SPEX_SAMPLE_NOTE))
        marks |= site->region
                     ? SPEX_MARK_DRAWN | SPEX_MARK_REGION
                     : spex_sampler_marks(&thread->countdowns[site->index], site->index, sampled);
    return spex_pack(sampled & SPEX_CONTROL_PERIOD_MASK, thread->thread_id, site->index, marks);
}

/* Whether nothing is to be said of the execution but what `sampled` says, as of most: the site
 * is on, has the same generation, and there is no note, whose bit is 0 in a control word. */
static inline bool spex_is_plain(const struct spex_thread *thread, const struct spex_site *site,
                                 uint32_t sampled) {
    uint32_t control = spex_load_relaxed(&site->control);
    return thread && control && (control ^ sampled) <= SPEX_CONTROL_PERIOD_MASK;
}

/* Its total and header, as spex_weight_left and spex_header. */
static inline uint64_t spex_plain_header(struct spex_thread *thread, const struct spex_site *site,
                                         uint32_t sampled, uint32_t marks) {
    uint32_t index = site->index, weight = sampled & SPEX_CONTROL_PERIOD_MASK;
    spex_own_add(&thread->countdowns[index].total, weight);
    return spex_pack(weight, thread->thread_id, index, marks);
}

/* Of executions that are not plain. */
void spex_record_count_noted(const struct spex_rings *rings, const struct spex_site *site,
                             uint32_t sampled, uint64_t now);
void spex_record_ticks_noted(const struct spex_rings *rings, uint32_t type,
                             const struct spex_site *site, uint32_t sampled, uint64_t begin,
                             uint64_t now);

static inline void spex_record_count(const struct spex_rings *rings, const struct spex_site *site,
                                     uint32_t sampled, uint64_t now) {
    struct spex_thread *thread = spex_thread_current();
    if (SPEX_LIKELY(spex_is_plain(thread, site, sampled)))
        spex_put0(rings, SPEX_CNT, now, spex_plain_header(thread, site, sampled, 0));
    else
        spex_record_count_noted(rings, site, sampled, now);
}

static inline uint32_t spex_opening(const struct spex_thread *thread, uint64_t begin) {
    return begin < thread->opened_at ? SPEX_MARK_OPENING : 0;
}

static inline void spex_record_ticks(const struct spex_rings *rings, uint32_t type,
                                     const struct spex_site *site, uint32_t sampled, uint64_t begin,
                                     uint64_t now) {
    struct spex_thread *thread = spex_thread_current();
    if (SPEX_LIKELY(spex_is_plain(thread, site, sampled)))
        spex_put1(rings, type, now,
                  spex_plain_header(thread, site, sampled, spex_opening(thread, begin)),
                  now - begin);
    else
        spex_record_ticks_noted(rings, type, site, sampled, begin, now);
}

/* `header`: as spex_pack. */
static inline void spex_put_kernel(const struct spex_rings *rings, uint64_t header,
                                   uint32_t context, uint64_t begin, uint64_t now,
                                   const uint64_t *parameters, unsigned count) {
    uint64_t values[SPEX_KERNEL_VALUES + SPEX_KERNEL_PARAMETERS] = {now - begin, context};
    for (unsigned p = 0; p < count; p++)
        values[SPEX_KERNEL_VALUES + p] = parameters[p];
    spex_put(rings, SPEX_KERNEL, now, header, values, SPEX_KERNEL_VALUES + count);
}

static inline void spex_record_kernel(const struct spex_rings *rings, const struct spex_site *site,
                                      uint32_t sampled, uint32_t context, uint64_t begin,
                                      uint64_t now, const uint64_t *parameters) {
    struct spex_thread *thread = spex_thread_current();
    if (spex_weight_left(thread, site, sampled))
        spex_put_kernel(rings, spex_header(thread, site, sampled, spex_opening(thread, begin)),
                        context, begin, now, parameters, site->detail);
}

static inline void spex_record_snapshot(const struct spex_rings *rings,
                                        const struct spex_site *site, uint32_t sampled,
                                        uint64_t now, const uint64_t *values) {
    struct spex_thread *thread = spex_thread_current();
    if (spex_weight_left(thread, site, sampled))
        spex_put(rings, SPEX_SNAPSHOT, now, spex_header(thread, site, sampled, 0), values,
                 site->detail);
}

/* The thread's counter, opened where it is not yet. */
static inline void spex_counter_now(struct spex_thread *thread, enum spex_counter counter,
                                    struct spex_reading *reading) {
    if (SPEX_UNLIKELY(!spex_counter_ready(&thread->counters, counter)) &&
        spex_counter_open(&thread->counters, counter))
        spex_thread_opened(thread);
    spex_counter_read(&thread->counters, counter, reading);
}

/* FLT and CTXSW, whose counts never change their source in a thread's life. */
static inline struct spex_span spex_events_begin(enum spex_counter counter, uint32_t sampled) {
    struct spex_thread *thread = spex_thread_current();
    struct spex_reading reading;
    if (!thread) /* a handler has forked since it sampled, and this is the child */
        return (struct spex_span){0};
    spex_counter_now(thread, counter, &reading);
    return (struct spex_span){
        .begin = reading.values[0],
        .weight = sampled,
        .openings = reading.available ? thread->openings : SPEX_UNREADABLE,
    };
}

static inline void spex_record_events(const struct spex_rings *rings, uint32_t type,
                                      enum spex_counter counter, const struct spex_site *site,
                                      struct spex_span span) {
    struct spex_thread *thread = spex_thread_current();
    struct spex_reading reading;
    if (!spex_weight_left(thread, site, span.weight))
        return;
    spex_counter_read(&thread->counters, counter, &reading);
    uint32_t marks = 0;
    if (SPEX_UNLIKELY(span.openings != thread->openings))
        marks = span.openings == SPEX_UNREADABLE ? SPEX_MARK_UNAVAILABLE : SPEX_MARK_OPENING;
    if (SPEX_UNLIKELY(!reading.available))
        marks |= SPEX_MARK_UNAVAILABLE;
    spex_put1(rings, type, spex_ticks(), spex_header(thread, site, span.weight, marks),
              reading.values[0] - span.begin);
}

/* LLC and PERFCNTR. */
static inline enum spex_counter spex_counter_of(uint32_t type, unsigned detail) {
    return type == SPEX_LLC ? SPEX_COUNTER_LLC : SPEX_COUNTER_PERFCNTR + detail;
}

static inline void spex_counters_begin(const struct spex_site *site,
                                       struct spex_counter_span *span) {
    struct spex_thread *thread = spex_thread_current();
    struct spex_reading reading;
    *span = (struct spex_counter_span){0};
    if (!thread) /* as above; END finds out by itself */
        return;
    spex_counter_now(thread, spex_counter_of(spex_site_type_(site), site->detail), &reading);
    *span = (struct spex_counter_span){
        .values = {reading.values[0], reading.values[1]},
        .enabled = reading.enabled,
        .running = reading.running,
        .source = reading.source,
        .openings = thread->openings,
        .available = reading.available,
    };
}

static inline void spex_record_counters(const struct spex_rings *rings,
                                        const struct spex_site *site, uint32_t sampled,
                                        const struct spex_counter_span *span) {
    struct spex_thread *thread = spex_thread_current();
    struct spex_reading end;
    if (!spex_weight_left(thread, site, sampled))
        return;
    spex_counter_read(&thread->counters, spex_counter_of(spex_site_type_(site), site->detail),
                      &end);
    const struct spex_reading begin = {.values = {span->values[0], span->values[1]},
                                       .enabled = span->enabled,
                                       .running = span->running,
                                       .source = span->source,
                                       .available = span->available};
    uint64_t values[2] = {0, 0};
    bool scaled = false;
    uint32_t marks = span->openings == thread->openings ? 0 : SPEX_MARK_OPENING;
    if (!spex_counter_delta(&begin, &end, values, &scaled))
        marks |= SPEX_MARK_UNAVAILABLE;
    if (scaled)
        marks |= SPEX_MARK_SCALED;
    uint64_t header = spex_header(thread, site, sampled, marks);
    if (spex_site_type_(site) == SPEX_LLC)
        spex_put(rings, SPEX_LLC, spex_ticks(), header, values, 2);
    else
        spex_put1(rings, SPEX_PERFCNTR, spex_ticks(), header, values[0]);
}

#endif
