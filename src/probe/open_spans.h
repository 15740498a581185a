/* SPDX-License-Identifier: MIT */
/* The spans that are open: executions of SPAN probes that are to make a record and whose END has
 * not come. A table of fixed size, keyed by probe and key. What it has no room for is refused.
 *
 *     hash ──► bucket   tag tag tag tag tag tag tag tag            a cache line
 *         │             slot slot slot slot slot slot slot slot    key, probe, BEGIN's site, ticks
 *         └──► hashed   how many spans have this as their first bucket
 *
 * A key has two buckets (two-choice hashing; Azar et al., "Balanced Allocations"), so that most of
 * the table can be filled. `hashed` is a table of its own, which stays in a cache: where few spans
 * are recorded, most executions need not look at a bucket. It is added to before a span is there, and
 * taken from after it is gone, by who takes it. A slot belongs to whoever changes its tag:
 *
 *     free ── claim (CAS) ──► claimed ── publish (release) ──► open ── take (CAS) ──► free
 *
 * Each claim changes the tag's version. A reader copies the slot between reading the tag and
 * changing it, so the copy is of the span that it takes.
 *
 * Threads: spex_open_spans_put, _take and _leave are for any thread and signal handler; they do not
 * wait for each other. A handler that interrupts a put or a take finds that span neither open nor
 * in its way. */
#ifndef SPEX_PROBE_OPEN_SPANS_H
#define SPEX_PROBE_OPEN_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/atomic.h>
#include <spex/compiler.h>

#include "base/clock.h"
#include "ring/record_layout.h"

/* A power of two of buckets, with 8 slots each: SPEX_SPANS_OPEN. */
enum { SPEX_SPAN_SLOTS = 8, SPEX_SPAN_BUCKETS = 8192 };

/* A tag: state 2 bits, version 24, hash 38. */
enum { SPEX_SPAN_FREE, SPEX_SPAN_CLAIMED, SPEX_SPAN_OPEN };
#define SPEX_SPAN_STATE   UINT64_C(3)
#define SPEX_SPAN_VERSION UINT64_C(0x3fffffc)
#define SPEX_SPAN_HASH    (~(SPEX_SPAN_STATE | SPEX_SPAN_VERSION))

struct spex_open_span {
    uint64_t key;
    /* Ticks at BEGIN. */
    uint64_t begin;
    /* The header of the record (spex_pack), without a thread. Its site is that of BEGIN. */
    uint64_t header;
    /* spex_site_switched of that site at BEGIN. */
    uint32_t switched;
    /* The probe's number. */
    uint32_t probe;
};

/* Aligned to a cache line, of which it has five. */
struct spex_span_bucket {
    uint64_t tags[SPEX_SPAN_SLOTS];
    struct spex_open_span slots[SPEX_SPAN_SLOTS];
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct spex_span_bucket, slots) == 64, "what a search reads is a line");

/* Events at a site since the table was last cleared. */
struct spex_span_counts {
    /* At BEGIN: there was no room. */
    uint64_t refused;
    /* At BEGIN: the span has lost its key to another BEGIN, or its place. */
    uint64_t abandoned;
    /* At END: no such span, while each BEGIN of the probe makes a record. */
    uint64_t unmatched;
};

/* The same of all sites of a probe. */
struct spex_span_sums {
    struct spex_span_counts counts;
    /* Spans that are open. */
    uint64_t open;
    /* Not each BEGIN has opened a span. */
    bool partial;
};

struct spex_open_spans {
    /* NULL: there is no memory, and every span is refused. */
    struct spex_span_bucket *buckets;
    /* By site; the last one belongs to calibration. */
    struct spex_span_counts *counts;
    /* By the first site of a probe: spans that were open at the last spex_open_spans_count. */
    uint32_t *open;
    /* By the probe's number, not 0: not each BEGIN has opened a span. */
    uint8_t *partial;
    /* By bucket: spans whose first bucket it is. Too high where a thread is gone (fork) that was
     * putting one, never too low. */
    uint16_t *hashed;
    /* A bit for each bucket: it may have had a span since the last spex_open_spans_count. */
    uint64_t *filled;
    uint32_t mask;
    size_t bytes;
    /* When it was made, by which ticks are converted. */
    struct spex_instant since;
    /* A span that is older may lose its place to others. */
    uint64_t old_ns;
};

/* Those of the process. */
extern struct spex_open_spans spex_open_spans;

/* Maps a table with so many buckets, a power of two of at least 2, and touches its memory. Returns
 * 0 or -ENOMEM. */
int spex_open_spans_map(struct spex_open_spans *spans, uint32_t buckets);
void spex_open_spans_unmap(struct spex_open_spans *spans);

/* Maps spex_open_spans, once in a process; returns as spex_open_spans_map. 2.8 MB. One caller at a
 * time. */
int spex_open_spans_prepare(void);

/* Empties the table, and gives most of its memory back. With all SPAN sites off, or in the child of
 * a fork. */
void spex_open_spans_clear(struct spex_open_spans *spans);

/* Opens a span; sets span->begin, as late as possible. The key must have been taken before. Returns
 * false, and counts it, when there is no room. */
bool spex_open_spans_put(struct spex_open_spans *spans, struct spex_open_span *span);

/* Returns the hash of a key: its low bits are the first bucket, its high ones are in tags. */
static inline uint64_t spex_span_hash(uint32_t probe, uint64_t key) {
    uint64_t x = (key ^ (uint64_t)probe << 48) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 32;
}

/* Returns whether the span may be open: there is one whose first bucket is the same. Without a table
 * there is none. Relaxed: an END comes after its BEGIN, by whatever the program orders them. */
static inline bool spex_open_spans_may_have(const struct spex_open_spans *spans, uint64_t hash) {
    return SPEX_LIKELY(spans->buckets) && spex_load_relaxed(&spans->hashed[hash & spans->mask]);
}

/* Ends the span with this key: copies it to *span, and returns its end in ticks, read as early as
 * possible. Returns 0 when it is not open, without reading the clock. */
uint64_t spex_open_spans_take(struct spex_open_spans *spans, uint32_t probe, uint64_t key,
                              struct spex_open_span *span);

/* Notes that a BEGIN of the probe opens no span; once, so that threads share the cache line. The
 * table is there. */
static inline void spex_open_spans_leave(const struct spex_open_spans *spans, uint32_t probe) {
    if (SPEX_UNLIKELY(!spex_load_relaxed(&spans->partial[probe])))
        spex_store_relaxed(&spans->partial[probe], 1);
}

/* Whether the site of the span's BEGIN has been on ever since: only then it makes a record. */
bool spex_open_span_counts(const struct spex_open_span *span);

/* Counts the spans of all probes that are open and count, also of a probe that has been switched off
 * since and not on again. Ends the others. Reads what has had spans since the last count. One caller
 * at a time. */
void spex_open_spans_count(struct spex_open_spans *spans);

/* Returns the sums of the probe whose first site is `first`; what is open is of the last
 * spex_open_spans_count. */
struct spex_span_sums spex_open_spans_sums(const struct spex_open_spans *spans, uint32_t first);

#endif
