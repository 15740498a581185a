/* SPDX-License-Identifier: MIT */
/* A ring of slots that overwrites its oldest records. One ring serves one CPU and one probe type.
 *
 *      next to read                 reserve (next index to hand out)
 *           │                          │
 *   ── lost ┤ committed … committed … w│ free
 *           └──── at most `capacity` ──┘        w: reserved, still being written
 *
 * Index i lives in slot i mod capacity. A writer never waits. When writers come round to a slot
 * that nobody has read, the record there is lost: the oldest one goes, the newest stays. For every
 * ring at rest
 *
 *      produced = consumed + lost
 *
 * and README.md beside this file says why that is exact.
 *
 * There are two ways of committing. They differ in how a writer is kept from disturbing another:
 *
 *   commit_rseq.h    by a restartable sequence: plain stores, only on the ring's own CPU
 *   commit_atomic.h  by atomic instructions: any number of writers on any CPU
 *
 * A ring is of one way for its life. What is here is the same for both. */
#ifndef SPEX_QUEUES_RING_H
#define SPEX_QUEUES_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#define SPEX_CACHE_LINE_BYTES 64

/* Longest record, in words of 8 bytes: two of header, SPEX_MAX_FIELDS values, and the CPU where the
 * ring does not tell it. */
#define SPEX_RECORD_WORDS_MAX (SPEX_MAX_FIELDS + 3)

enum spex_commit { SPEX_COMMIT_RSEQ = 1, SPEX_COMMIT_ATOMIC };

/* Written by producers. All zero in a fresh ring. */
struct spex_ring_producer {
    uint64_t reserve;   /* rseq: end of the slots that may have been touched; atomic: indices handed
                           out */
    uint64_t commit;    /* rseq: records written */
    uint64_t abandoned; /* atomic: indices whose writer put its record under a later index */
} __attribute__((aligned(SPEX_CACHE_LINE_BYTES)));

/* Written by the one consumer; others may read. All zero in a fresh ring. */
struct spex_ring_consumer {
    uint64_t passed;   /* indices read or lost: nothing before them will be read */
    uint64_t consumed; /* records read */
    uint64_t stuck_at; /* atomic: what the last visit stopped at because it was not committed yet,
                          or 0 */
} __attribute__((aligned(SPEX_CACHE_LINE_BYTES)));

/* Where a ring's parts are; made when it is needed, owns nothing. */
struct spex_ring {
    struct spex_ring_producer *producer;
    struct spex_ring_consumer *consumer;
    uint64_t *slots; /* capacity × spex_ring_slot_words() */
    uint64_t mask;   /* capacity - 1; the capacity is a power of two */
    uint32_t record_words;
    enum spex_commit commit;
};

struct spex_ring_counts {
    uint64_t produced;
    uint64_t consumed;
    uint64_t lost;
    uint64_t pending; /* produced and neither read nor overwritten yet */
};

/* Words of a slot, and bytes of all slots, that records of so many words need. The memory is the
 * caller's, zeroed, 8-byte aligned. */
uint32_t spex_ring_slot_words(enum spex_commit commit, uint32_t record_words);
size_t spex_ring_bytes(enum spex_commit commit, uint32_t record_words, size_t capacity);

/* Copies up to `max` of the oldest records, record_words words each, to `out`; returns how many.
 * One consumer at a time. May return fewer than there are, or none: then call again later. */
size_t spex_ring_read(const struct spex_ring *ring, uint64_t *out, size_t max);

/* Whether every record produced before the call has been read or lost. */
bool spex_ring_drained(const struct spex_ring *ring);

/* Whether the last read stopped at a record that was still being written. For the consumer. */
bool spex_ring_stuck(const struct spex_ring *ring);

/* Share of the capacity that is waiting to be read, 0 to 1. */
double spex_ring_fill(const struct spex_ring *ring);

/* produced = consumed + lost + pending, always. Produced and consumed are exact when no push or
 * read is under way, lost and pending once the ring is drained, too; else they are near
 * estimates, and what a read is taking counts as pending. */
struct spex_ring_counts spex_ring_count(const struct spex_ring *ring);

#endif
