/* SPDX-License-Identifier: MIT */
/* Makes records: the code from the END of a probe that is on to the ring. The functions are inline,
 * because they are most of a record's cost, and because calibration measures the same code on rings
 * of its own. Seldom used parts are functions of recording.c, called last, so that the inline code
 * needs no stack frame.
 *
 * In this file `sampled` is the result of spex_sample_ at BEGIN: generation, SPEX_SAMPLE_NOTE, and
 * weight. Times are in ticks; a header is that of spex_pack.
 *
 * Threads: any thread of the program, and signal handlers. Nothing here locks, allocates from the
 * heap or changes errno. Between BEGIN and END the site may have been switched off or got another
 * generation, and a signal handler may have forked; each END checks this. */
#ifndef SPEX_PROBE_RECORDING_H
#define SPEX_PROBE_RECORDING_H

#include <string.h>

#include <spex/kernel.h>

#include "counters/counters.h"
#include "probe/open_spans.h"
#include "probe/threads.h"
#include "ring/doorbell.h"
#include "ring/probe_type.h"
#include "ring/record_layout.h"
#include "ring/rings.h"

/* End a push: alarm a collector if the ring is due, and push into an atomic ring what the
 * restartable sequence has not committed. Called once every few records, and after each failed
 * sequence. `committed` is the result of the push. */
void spex_put_finish(const struct spex_rings *rings, unsigned type_ring, uint64_t committed,
                     const uint64_t *words, size_t count);
void spex_put0_finish(const struct spex_rings *rings, unsigned type_ring, uint64_t committed,
                      uint64_t now, uint64_t header);
void spex_put1_finish(const struct spex_rings *rings, unsigned type_ring, uint64_t committed,
                      uint64_t now, uint64_t header, uint64_t value);

/* Push a record with no value, one value, or `count` values into the ring of the type on this CPU.
 * The mask `look` makes the check for a due ring rare; 0, a failed push, always passes it. */
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

/* Returns whether the site has been on ever since it had the generation of `sampled`. The common
 * case is that it still has this generation. Otherwise `on_since` and `changes` of the site tell
 * whether the generation lies between the one with which the site went on and the present one. */
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

/* At the END of an execution that has a note: it may be one that is looked at (nesting.h). */
static inline void spex_noted_end(struct spex_thread *thread, const struct spex_site *site,
                                  uint32_t sampled, uint64_t now) {
    if (SPEX_UNLIKELY(sampled & SPEX_SAMPLE_NOTE) && thread)
        spex_nesting_end(thread, site->index, now);
}

/* The state of a thread without one that ends an execution of another thread; NULL: there is no
 * room for one. Then the executions are counted, and the record is told as not made. */
struct spex_thread *spex_thread_attach_at_end(const struct spex_site *site, uint32_t sampled);

/* The state of the thread that ends an execution, which another thread may have begun. */
static inline struct spex_thread *spex_thread_at_end(const struct spex_site *site,
                                                     uint32_t sampled) {
    struct spex_thread *thread = spex_thread_current();
    return SPEX_LIKELY(thread) ? thread : spex_thread_attach_at_end(site, sampled);
}

/* Adds what the record stands for to the thread's total. Who adds up threads' executions goes by
 * their words, so that of a thread which has only ended executions of the site must not be 0. */
static inline void spex_total_add(struct spex_thread *thread, uint32_t index, uint32_t sampled) {
    uint32_t never = 0;
    if (SPEX_UNLIKELY(!spex_load_relaxed(&thread->executed[index])))
        spex_cas_relaxed(&thread->executed[index], &never, sampled & SPEX_CONTROL_GENERATION_MASK);
    spex_own_add(&spex_countdown_of(thread, index)->total, sampled & SPEX_CONTROL_PERIOD_MASK);
}

/* Returns the weight of the record; 0: make no record, because the site has been switched off since
 * BEGIN. That includes the child of a fork which ends an execution that the parent began, and also
 * records. Adds the weight to the thread's total, unless a countdown of the site has done that. */
static inline uint32_t spex_weight_left(struct spex_thread *thread, const struct spex_site *site,
                                        uint32_t sampled) {
    if (!thread || !spex_on_since(site, sampled))
        return 0;
    if (SPEX_LIKELY(!(sampled & SPEX_SAMPLE_NOTE)))
        spex_total_add(thread, site->index, sampled);
    else if (site->region)
        spex_sampler_chosen(thread, site->index, sampled & SPEX_CONTROL_PERIOD_MASK);
    return sampled & SPEX_CONTROL_PERIOD_MASK;
}

/* Returns the header of the record. A note at BEGIN means that a countdown chose the execution: the
 * marks then say how, for the estimates of variance. */
static inline uint64_t spex_header(const struct spex_thread *thread, const struct spex_site *site,
                                   uint32_t sampled, uint32_t marks) {
    if (SPEX_UNLIKELY(sampled & SPEX_SAMPLE_NOTE))
        marks |= site->region ? SPEX_MARK_DRAWN | SPEX_MARK_REGION
                              : spex_sampler_marks(spex_countdown_of(thread, site->index),
                                                   site->index, sampled);
    return spex_pack(sampled & SPEX_CONTROL_PERIOD_MASK, thread->number, site->index, marks);
}

/* Returns whether this is the common case: the site is on, has the generation of BEGIN, and there
 * is no note. One comparison finds the last two, because the bit of a note is 0 in a control
 * word. */
static inline bool spex_is_plain(const struct spex_thread *thread, const struct spex_site *site,
                                 uint32_t sampled) {
    uint32_t control = spex_load_relaxed(&site->control);
    return thread && control && (control ^ sampled) <= SPEX_CONTROL_PERIOD_MASK;
}

/* Does for the common case what spex_weight_left and spex_header do together. */
static inline uint64_t spex_plain_header(struct spex_thread *thread, const struct spex_site *site,
                                         uint32_t sampled, uint32_t marks) {
    uint32_t index = site->index;
    spex_total_add(thread, index, sampled);
    return spex_pack(sampled & SPEX_CONTROL_PERIOD_MASK, thread->number, index, marks);
}

/* Make the record of an execution for which spex_is_plain is false. */
void spex_record_count_noted(const struct spex_rings *rings, const struct spex_site *site,
                             uint32_t sampled, uint64_t now);
void spex_record_ticks_noted(const struct spex_rings *rings, uint32_t type,
                             const struct spex_site *site, uint32_t sampled, uint64_t begin,
                             uint64_t now);

/* END of CNT. */
static inline void spex_record_count(const struct spex_rings *rings, const struct spex_site *site,
                                     uint32_t sampled, uint64_t now) {
    struct spex_thread *thread = spex_thread_current();
    if (SPEX_LIKELY(spex_is_plain(thread, site, sampled)))
        spex_put0(rings, SPEX_CNT, now, spex_plain_header(thread, site, sampled, 0));
    else
        spex_record_count_noted(rings, site, sampled, now);
}

/* A time is marked if openings are more than this part of it. */
#define SPEX_OPENING_PART 64

/* Returns the mark of an execution from `begin` to `now` during which this thread opened a counter:
 * its time contains that of the system calls. Of a long time they are next to nothing. A state that
 * is attached at END is so after `now`. */
static inline uint32_t spex_opening(const struct spex_thread *thread, uint64_t begin,
                                    uint64_t now) {
    if (SPEX_LIKELY(begin >= thread->opened_at))
        return 0;
    bool much = thread->opening_ticks > (now - begin) / SPEX_OPENING_PART;
    return much && thread->opened_at <= now ? SPEX_MARK_OPENING : 0;
}

/* END of LAT and TPT. */
static inline void spex_record_ticks(const struct spex_rings *rings, uint32_t type,
                                     const struct spex_site *site, uint32_t sampled, uint64_t begin,
                                     uint64_t now) {
    struct spex_thread *thread = spex_thread_current();
    if (SPEX_LIKELY(spex_is_plain(thread, site, sampled)))
        spex_put1(rings, type, now,
                  spex_plain_header(thread, site, sampled, spex_opening(thread, begin, now)),
                  now - begin);
    else
        spex_record_ticks_noted(rings, type, site, sampled, begin, now);
}

/* Pushes the record of a kernel: its time, its context, and `count` parameters. */
static inline void spex_put_kernel(const struct spex_rings *rings, uint64_t header,
                                   uint32_t context, uint64_t begin, uint64_t now,
                                   const uint64_t *parameters, unsigned count) {
    uint64_t values[SPEX_KERNEL_VALUES + SPEX_KERNEL_PARAMETERS] = {now - begin, context};
    for (unsigned p = 0; p < count; p++)
        values[SPEX_KERNEL_VALUES + p] = parameters[p];
    spex_put(rings, SPEX_KERNEL, now, header, values, SPEX_KERNEL_VALUES + count);
}

/* END of KERNEL. */
static inline void spex_record_kernel(const struct spex_rings *rings, const struct spex_site *site,
                                      uint32_t sampled, uint32_t context, uint64_t begin,
                                      uint64_t now, const uint64_t *parameters) {
    struct spex_thread *thread = spex_thread_at_end(site, sampled);
    spex_noted_end(thread, site, sampled, now);
    if (spex_weight_left(thread, site, sampled))
        spex_put_kernel(rings, spex_header(thread, site, sampled, spex_opening(thread, begin, now)),
                        context, begin, now, parameters, site->detail);
}

/* SNAPSHOT, which has no BEGIN. */
static inline void spex_record_snapshot(const struct spex_rings *rings,
                                        const struct spex_site *site, uint32_t sampled,
                                        uint64_t now, const uint64_t *values) {
    struct spex_thread *thread = spex_thread_current();
    if (spex_weight_left(thread, site, sampled))
        spex_put(rings, SPEX_SNAPSHOT, now, spex_header(thread, site, sampled, 0), values,
                 site->detail);
}

/* Reads the thread's counter, and opens it first if necessary. Opening takes system calls, so it is
 * noted in the thread: executions that it falls into are marked. */
static inline void spex_counter_now(struct spex_thread *thread, enum spex_counter counter,
                                    struct spex_reading *reading) {
    if (SPEX_UNLIKELY(!spex_counter_ready(&thread->counters, counter))) {
        uint64_t begin = spex_ticks();
        if (spex_counter_open(&thread->counters, counter))
            spex_thread_opened(thread, begin);
    }
    spex_counter_read(&thread->counters, counter, reading);
}

/* Bits of a span's `begin` below the count of FLT and CTXSW: the number of the thread's openings. */
enum { SPEX_OPENINGS_BITS = 16 };

/* BEGIN of FLT and CTXSW. `openings` of the span has the source of the reading, which no other
 * thread has; 0: the counter could not be read. */
static inline struct spex_span spex_events_begin(enum spex_counter counter, uint32_t sampled) {
    struct spex_thread *thread = spex_thread_current();
    struct spex_reading reading;
    /* A signal handler has forked since spex_sample_, and this is the child. */
    if (!thread)
        return (struct spex_span){0};
    spex_counter_now(thread, counter, &reading);
    return (struct spex_span){
        .begin = reading.values[0] << SPEX_OPENINGS_BITS | (uint16_t)thread->openings,
        .weight = sampled,
        .openings = reading.available ? reading.source : 0,
    };
}

/* END of FLT and CTXSW. Counts of two threads cannot be compared. */
static inline void spex_record_events(const struct spex_rings *rings, uint32_t type,
                                      enum spex_counter counter, const struct spex_site *site,
                                      struct spex_span span) {
    struct spex_thread *thread = spex_thread_at_end(site, span.weight);
    struct spex_reading reading;
    if (!spex_weight_left(thread, site, span.weight))
        return;
    spex_counter_read(&thread->counters, counter, &reading);
    uint64_t events = reading.values[0] - (span.begin >> SPEX_OPENINGS_BITS);
    uint32_t marks = 0;
    if (SPEX_UNLIKELY(!reading.available || reading.source != span.openings)) {
        marks = SPEX_MARK_UNAVAILABLE;
        events = 0;
    } else if (SPEX_UNLIKELY((uint16_t)span.begin != (uint16_t)thread->openings)) {
        marks = SPEX_MARK_OPENING;
    }
    spex_put1(rings, type, spex_ticks(), spex_header(thread, site, span.weight, marks), events);
}

/* BEGIN of a SPAN that makes a record, or whose key may be open. */
void spex_span_open(struct spex_open_spans *spans, const struct spex_site *site, uint32_t sampled,
                    uint64_t key);

/* BEGIN of a SPAN. A span that is open with this key has lost it, also where this execution makes
 * no record: the next END would else end the former span. What is rare is out of line, so that most
 * executions save no registers. */
static inline void spex_record_span_begin(struct spex_open_spans *spans,
                                          const struct spex_site *site, uint32_t sampled,
                                          uint64_t key) {
    uint32_t probe = spex_load_relaxed(&site->probe_id);
    if (SPEX_UNLIKELY(sampled & SPEX_CONTROL_PERIOD_MASK) ||
        SPEX_UNLIKELY(spex_open_spans_may_have(spans, spex_span_hash(probe, key))))
        spex_span_open(spans, site, sampled, key);
    else if (SPEX_LIKELY(spans->buckets))
        spex_open_spans_leave(spans, probe);
}

/* An END without a BEGIN, if each BEGIN of the probe has opened a span. The table is there. */
static inline void spex_span_unmatched(struct spex_open_spans *spans, const struct spex_site *site,
                                       uint32_t probe) {
    if (SPEX_UNLIKELY(!spex_load_relaxed(&spans->partial[probe])))
        spex_fetch_add_relaxed(&spans->counts[site->index].unmatched, 1);
}

/* The rest of END of a SPAN, where the span may be open. */
void spex_span_close(const struct spex_rings *rings, struct spex_open_spans *spans,
                     const struct spex_site *site, uint64_t key);

static inline void spex_record_span_end(const struct spex_rings *rings,
                                        struct spex_open_spans *spans, const struct spex_site *site,
                                        uint64_t key) {
    uint32_t probe = spex_load_relaxed(&site->probe_id);
    if (SPEX_UNLIKELY(!spans->buckets))
        return;
    if (SPEX_UNLIKELY(spex_open_spans_may_have(spans, spex_span_hash(probe, key))))
        spex_span_close(rings, spans, site, key);
    else
        spex_span_unmatched(spans, site, probe);
}

/* Returns the counter of LLC, or of PERFCNTR number `detail`. */
static inline enum spex_counter spex_counter_of(uint32_t type, unsigned detail) {
    return type == SPEX_LLC ? SPEX_COUNTER_LLC : SPEX_COUNTER_PERFCNTR + detail;
}

/* BEGIN of LLC and PERFCNTR. Their counters may be multiplexed or be opened anew, so the span holds
 * the whole reading. */
static inline void spex_counters_begin(const struct spex_site *site,
                                       struct spex_counter_span *span) {
    struct spex_thread *thread = spex_thread_current();
    struct spex_reading reading;
    *span = (struct spex_counter_span){0};
    /* As in spex_events_begin. END finds no thread either, or a site that is off. */
    if (!thread)
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

/* END of LLC and PERFCNTR. A counter that did not run all the time is scaled, which is marked. */
static inline void spex_record_counters(const struct spex_rings *rings,
                                        const struct spex_site *site, uint32_t sampled,
                                        const struct spex_counter_span *span) {
    struct spex_thread *thread = spex_thread_at_end(site, sampled);
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
