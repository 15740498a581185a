/* SPDX-License-Identifier: MIT */
/* What BEGIN and END of a probe execute. Indirect header: programs include spex/probe.h.
 *
 *     BEGIN   weight = spex_sample_(site)          0 while the site is off
 *             span = spex_lat_begin_(weight)       reads what is measured, if there is a weight
 *     END     spex_lat_end_(site, span)            makes the record, if there is a weight
 *
 * The inline functions decide whether there is anything to do. What remains is in libspex, and is
 * called only for a site that is on. */
#ifndef SPEX_DETAIL_RECORDING_H
#define SPEX_DETAIL_RECORDING_H

#include <spex/detail/names_begin.h>

#include <stdbool.h>
#include <stdint.h>

#include <spex/atomic.h>
#include <spex/compiler.h>
#include <spex/site.h>
#include <spex/ticks.h>

SPEX_HEADER_BEGIN_

/* The state of an enclosing probe between BEGIN and END, on the program's stack. */
struct spex_span {
    /* Ticks at BEGIN, or events and below them, in 16 bits, how often this thread had opened
     * counters. When END finds another number of these, the record is marked SPEX_MARK_OPENING. */
    uint64_t begin;
    /* The result of spex_sample_ at BEGIN. */
    uint32_t weight;
    /* The opening that the events are from, as `source` below; 0: they could not be read. */
    uint32_t openings;
};

/* The same for types that read performance counters. The macros keep the weight in a variable of
 * its own: while the site is off, nothing is written to this structure. */
struct spex_counter_span {
    /* The counts at BEGIN: one for PERFCNTR, two for LLC. */
    uint64_t values[2];
    /* ns for which the event was enabled, and for which the processor counted it. */
    uint64_t enabled;
    uint64_t running;
    /* The opening that the values are from. Values of different openings are not comparable. */
    uint32_t source;
    /* How often this thread had opened counters. */
    uint32_t openings;
    /* 0: the counter could not be read. */
    uint32_t available;
};

SPEX_EXTERN_C_BEGIN

/* The functions of libspex that probes call. Any thread, signal handlers; none blocks, allocates
 * from the heap or changes errno. `weight` is the result of spex_sample_, times are in ticks.
 *
 * Decides where spex_sample_ cannot, and returns what spex_sample_ does. */
SPEX_PROBE_API uint32_t spex_sample(struct spex_site *site);

/* END of an execution that makes no record: it is no longer published as going on, or looked at. */
SPEX_PROBE_API void spex_inactive(struct spex_site *site, uint32_t weight);

/* END of an execution that makes a record, by type. `now` is the time of END, `begin` that of
 * BEGIN. */
SPEX_PROBE_API void spex_cnt_end(struct spex_site *site, uint32_t weight, uint64_t now);
SPEX_PROBE_API void spex_lat_end(struct spex_site *site, uint32_t weight, uint64_t begin,
                                 uint64_t now);
SPEX_PROBE_API void spex_tpt_end(struct spex_site *site, uint32_t weight, uint64_t begin,
                                 uint64_t now);

/* A SNAPSHOT that makes a record. The site knows the number of values. */
SPEX_PROBE_API void spex_snapshot(struct spex_site *site, uint32_t weight, uint64_t now,
                                  const uint64_t *values);

/* BEGIN and END of the types that count events of the operating system: BEGIN reads the thread's
 * count, END the difference. */
SPEX_PROBE_API struct spex_span spex_flt_begin(uint32_t weight);
SPEX_PROBE_API void spex_flt_end(struct spex_site *site, struct spex_span span);
SPEX_PROBE_API struct spex_span spex_ctxsw_begin(uint32_t weight);
SPEX_PROBE_API void spex_ctxsw_end(struct spex_site *site, struct spex_span span);

/* The same for LLC and PERFCNTR, which read performance counters. The span contains more than a
 * count, because the kernel may have multiplexed the counter. */
SPEX_PROBE_API void spex_counter_begin(struct spex_site *site, struct spex_counter_span *span);
SPEX_PROBE_API void spex_counter_end(struct spex_site *site, uint32_t weight,
                                     struct spex_counter_span *span);

/* BEGIN of a SPAN that is on, and END of one. `weight` 0: this execution makes no record, but the
 * key belongs to it from now on. */
SPEX_PROBE_API void spex_span_begin(struct spex_site *site, uint32_t weight, uint64_t key);
SPEX_PROBE_API void spex_span_end(struct spex_site *site, uint64_t key);

SPEX_EXTERN_C_END

/* A bit of the result of spex_sample_, between generation and weight. With a weight: the thread's
 * total already contains these executions, because the library runs the countdown. Without a
 * weight: the execution is nested in another execution of the same probe, or its END is needed for
 * what the probes within it cost (nesting.h). */
#define SPEX_SAMPLE_NOTE (SPEX_CONTROL_PERIOD_MASK + 1)

/* Whether the site is on. Without an acquire: what follows loads the control word again. */
SPEX_INLINE uint32_t spex_site_on_(const struct spex_site *site) {
    return spex_load_relaxed(&site->control);
}

/* Counts this execution, and decides whether it makes a record. Returns
 *
 *     0                         nothing to do
 *     generation                no record, but END reports the end of the execution
 *     generation and weight     a record, which stands for `weight` executions
 *
 * The thread's word of the site holds the generation and the executions since the last record.
 * While its generation is that of the control word, control - count is the rest of the period. */
SPEX_INLINE uint32_t spex_sample_(struct spex_site *site) {
    /* One load for both control word and index. This path is short, because it runs between the
     * program's own instructions. */
    uint64_t both = SPEX_LOAD_SITE_(spex_site_head_(site));
    uint32_t control = SPEX_LOW_(both);
    if (!SPEX_UNLIKELY(control))
        return 0;
    SPEX_LOAD_SITE_AGAIN_(spex_site_head_(site), both);
    control = SPEX_LOW_(both);
    /* The upper half is the index. Without a state of this thread the word is 0, whose generation
     * no control word has. */
    uint32_t *executed = spex_executed + (both >> 32);
    uint32_t count = spex_load_relaxed(executed) + 1;
    /* The same generation, and the period has not ended: the difference is the rest of the period.
     * Any other generation makes it larger than the mask. */
    if (SPEX_LIKELY(control - count - 1 < SPEX_CONTROL_PERIOD_MASK)) {
        spex_store_relaxed(executed, count);
        return 0;
    }
    /* The period is neither 0 (polling) nor SPEX_CONTROL_COUNTDOWN. */
    bool period = ((control + 1) & SPEX_CONTROL_PERIOD_MASK) > 1;
    /* A fixed period that ends here: the count begins again. If the period was shortened and is
     * over, the library decides where. */
    if (control == count && period) {
        spex_store_relaxed(executed, control & ~SPEX_CONTROL_PERIOD_MASK);
        return count;
    }
    return spex_sample(site);
}

/* Returns whether an execution with this result of spex_sample_ makes a record. */
SPEX_INLINE bool spex_records_(uint32_t weight) {
    return weight & SPEX_CONTROL_PERIOD_MASK;
}

/* END of an execution for which BEGIN returned `weight`: evaluates `record` if it makes a record.
 * While the site is off this is one test. */
#define SPEX_FINISH_(site, weight, record)                                                         \
    do {                                                                                           \
        if (SPEX_UNLIKELY(weight)) {                                                               \
            if (SPEX_LIKELY(spex_records_(weight)))                                                \
                record;                                                                            \
            else                                                                                   \
                spex_inactive(site, weight);                                                       \
        }                                                                                          \
    } while (0)

/* BEGIN and END of each type. While the site is off they only test the weight.
 *
 * CNT measures nothing; its record has the time of END. */
SPEX_INLINE struct spex_span spex_cnt_begin_(uint32_t weight) {
    struct spex_span span = {0, weight, 0};
    return span;
}

SPEX_INLINE void spex_cnt_end_(struct spex_site *site, struct spex_span span) {
    SPEX_FINISH_(site, span.weight, spex_cnt_end(site, span.weight, spex_ticks()));
}

/* LAT and TPT. Only executions that make a record read the clock at BEGIN. */
SPEX_INLINE struct spex_span spex_lat_begin_(uint32_t weight) {
    struct spex_span span = {0, weight, 0};
    if (SPEX_UNLIKELY(spex_records_(span.weight)))
        span.begin = spex_ticks();
    return span;
}

SPEX_INLINE void spex_lat_end_(struct spex_site *site, struct spex_span span) {
    SPEX_FINISH_(site, span.weight, spex_lat_end(site, span.weight, span.begin, spex_ticks()));
}

#define spex_tpt_begin_(weight) spex_lat_begin_(weight)

SPEX_INLINE void spex_tpt_end_(struct spex_site *site, struct spex_span span) {
    SPEX_FINISH_(site, span.weight, spex_tpt_end(site, span.weight, span.begin, spex_ticks()));
}

/* FLT and CTXSW. */
SPEX_INLINE struct spex_span spex_flt_begin_(uint32_t weight) {
    struct spex_span off = {0, weight, 0};
    return SPEX_UNLIKELY(spex_records_(weight)) ? spex_flt_begin(weight) : off;
}

SPEX_INLINE void spex_flt_end_(struct spex_site *site, struct spex_span span) {
    SPEX_FINISH_(site, span.weight, spex_flt_end(site, span));
}

SPEX_INLINE struct spex_span spex_ctxsw_begin_(uint32_t weight) {
    struct spex_span off = {0, weight, 0};
    return SPEX_UNLIKELY(spex_records_(weight)) ? spex_ctxsw_begin(weight) : off;
}

SPEX_INLINE void spex_ctxsw_end_(struct spex_site *site, struct spex_span span) {
    SPEX_FINISH_(site, span.weight, spex_ctxsw_end(site, span));
}

/* LLC and PERFCNTR. The span stays unwritten, and is not read, unless the weight asks for a
 * record. */
SPEX_INLINE uint32_t spex_counter_begin_(struct spex_site *site, uint32_t weight,
                                         struct spex_counter_span *span) {
    if (SPEX_UNLIKELY(spex_records_(weight)))
        spex_counter_begin(site, span);
    return weight;
}

SPEX_INLINE void spex_counter_end_(struct spex_site *site, uint32_t weight,
                                   struct spex_counter_span *span) {
    SPEX_FINISH_(site, weight, spex_counter_end(site, weight, span));
}

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
