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
 * A ring has one way for its life. This header is the same for both. */
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
    /* rseq: end of the slots that may have been written to; atomic: the last index handed out. */
    uint64_t reserve;
    /* rseq: records written. */
    uint64_t commit;
    /* atomic: indices whose writer has put its record under a later index. */
    uint64_t abandoned;
} __attribute__((aligned(SPEX_CACHE_LINE_BYTES)));

/* Written by the one consumer; others may read. All zero in a fresh ring. */
struct spex_ring_consumer {
    /* Indices read or lost: no record before this index will be read. */
    uint64_t passed;
    /* Records read. */
    uint64_t consumed;
    /* atomic: the index at which the last read stopped, because it was not committed yet; 0:
     * none. */
    uint64_t stuck_at;
} __attribute__((aligned(SPEX_CACHE_LINE_BYTES)));

/* The parts of a ring. It is made when it is needed, and owns no memory. */
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

/* Return the words of a slot, and the bytes of all slots, for records of record_words words. The
 * caller provides the memory, zeroed and aligned to 8 bytes. */
uint32_t spex_ring_slot_words(enum spex_commit commit, uint32_t record_words);
size_t spex_ring_bytes(enum spex_commit commit, uint32_t record_words, size_t capacity);

/* Copies up to `max` of the oldest records, record_words words each, to `out`; returns how many.
 * One consumer at a time. May return fewer than there are, or none: then call again later. */
size_t spex_ring_read(const struct spex_ring *ring, uint64_t *out, size_t max);

/* Returns whether every record produced before the call has been read or lost. Any thread. */
bool spex_ring_drained(const struct spex_ring *ring);

/* Returns whether the last read stopped at a record that was still being written. For the
 * consumer. */
bool spex_ring_stuck(const struct spex_ring *ring);

/* Returns the share of the capacity that is waiting to be read, 0 to 1. Any thread. */
double spex_ring_fill(const struct spex_ring *ring);

/* Returns the counts, for which produced = consumed + lost + pending always holds. Produced and
 * consumed are exact when no push and no read is under way. Lost and pending are exact when the
 * ring is drained besides. Otherwise they are estimates, in which the records of a current read
 * count as pending. Any thread. */
struct spex_ring_counts spex_ring_count(const struct spex_ring *ring);

#endif
