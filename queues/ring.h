/* SPDX-License-Identifier: MIT */
/* A ring of slots that overwrites its oldest records. One ring serves one CPU and one probe type.
 *
 *      next to read                 reserve (next index to hand out)
 *           │                          │
 *   ── lost ┤ committed … committed … w│ free
 *           └──── at most `capacity` ──┘        w: reserved, still being written
 *
 * Index i lives in slot i mod capacity. A writer takes an index, claims the slot, writes, commits;
 * it never waits. When writers come round to a slot that nobody has read, the record there is lost:
 * the oldest one goes, the newest stays. For every ring at rest
 *
 *      produced = consumed + lost
 *
 * and README.md beside this file says why that is exact. */
#ifndef SPEX_RING_H
#define SPEX_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPEX_CACHE_LINE_BYTES 64

/* Indices start here, so that the all-zero state of a fresh slot belongs to none of them. */
#define SPEX_RING_FIRST_INDEX 1

/* Longest slot, in words of 8 bytes: three of header and SPEX_MAX_FIELDS values. */
#define SPEX_SLOT_WORDS_MAX 9

struct spex_ring {
    /* Set by create, then read only. */
    uint64_t *words;  /* capacity × slot_words: what is recorded */
    uint64_t *states; /* capacity: who owns each slot, see atomic.c */
    uint64_t mask;    /* capacity - 1; the capacity is a power of two */
    uint32_t slot_words;

    /* Written by producers. */
    uint64_t reserve __attribute__((aligned(SPEX_CACHE_LINE_BYTES)));
    uint64_t abandoned; /* indices whose writer put its record under a later index instead */

    /* Written by the one consumer; others may read. */
    uint64_t next __attribute__((aligned(SPEX_CACHE_LINE_BYTES)));
    uint64_t consumed;
    uint64_t stuck_at; /* index the last visit stopped at because it was not committed yet, or 0 */
};

struct spex_ring_counts {
    uint64_t produced;
    uint64_t consumed;
    uint64_t lost;
    uint64_t pending; /* produced and neither read nor overwritten yet */
};

/* Bytes that a ring of this shape needs beside its struct, for the caller to map, zeroed. */
size_t spex_ring_bytes(size_t capacity, uint32_t slot_words);

/* Lays a ring over `memory` (8-byte aligned, zeroed, spex_ring_bytes long, owned by the caller).
 * `capacity` is a power of two, slot_words 1 to SPEX_SLOT_WORDS_MAX. */
void spex_ring_init(struct spex_ring *ring, void *memory, size_t capacity, uint32_t slot_words);

/* Writes one record of slot_words words. Any number of threads and signal handlers at once, also on
 * other CPUs than the ring's; lock-free: some writer always gets on. True once every quarter of the
 * ring: the moment to see to it that somebody reads. */
bool spex_ring_push(struct spex_ring *ring, const uint64_t *words);

/* Copies up to `max` of the oldest records, slot_words words each, to `out`; returns how many. One
 * consumer at a time. Stops early at a record that is still being written; when the visit before
 * stopped at the same one, it is passed over, and its writer puts it under a later index. */
size_t spex_ring_read(struct spex_ring *ring, uint64_t *out, size_t max);

/* Whether every index handed out before the call has been read, lost or abandoned. */
bool spex_ring_drained(const struct spex_ring *ring);

/* Whether the last read stopped at a record that was still being written. For the consumer. */
bool spex_ring_stuck(const struct spex_ring *ring);

/* Share of the capacity that is waiting to be read, 0 to 1. */
double spex_ring_fill(const struct spex_ring *ring);

/* produced = consumed + lost + pending, always. Produced and consumed are exact when no push or
 * read is under way, lost and pending once the ring is drained, too; else they are near
 * estimates. */
struct spex_ring_counts spex_ring_count(const struct spex_ring *ring);

#endif
