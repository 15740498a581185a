/* SPDX-License-Identifier: MIT */
/* The parts of a ring that are the same for both ways of committing: sizes and counts. Counters
 * that other threads write are loaded relaxed: while the ring is in use they are estimates for
 * people, and once it is at rest they are exact. */
#include "queues/ring.h"

#include <spex/atomic.h>

#include "queues/commit_atomic.h"
#include "queues/commit_rseq.h"

uint32_t spex_ring_slot_words(enum spex_commit commit, uint32_t record_words) {
    return commit == SPEX_COMMIT_ATOMIC ? record_words + 1 : record_words;
}

size_t spex_ring_bytes(enum spex_commit commit, uint32_t record_words, size_t capacity) {
    return capacity * spex_ring_slot_words(commit, record_words) * sizeof(uint64_t);
}

size_t spex_ring_read(const struct spex_ring *ring, uint64_t *out, size_t max) {
    if (ring->commit == SPEX_COMMIT_ATOMIC)
        return spex_atomic_read(ring, out, max);
    return spex_rseq_read(ring, out, max);
}

/* Returns how many indices lie between the last one that was passed or overwritten and the
 * newest. */
static uint64_t indices_waiting(const struct spex_ring *ring) {
    uint64_t capacity = ring->mask + 1;
    /* `passed` comes first: with an older value than `consumed` the pending records are too many
     * rather than too few. */
    uint64_t next = spex_load_acquire(
        &ring->consumer->passed); /* P2 (P1 in commit_atomic.c, P1 in commit_rseq.c) */
    uint64_t reserve = spex_load_relaxed(&ring->producer->reserve);
    uint64_t end =
        ring->commit == SPEX_COMMIT_ATOMIC ? reserve : spex_load_relaxed(&ring->producer->commit);
    if (reserve > capacity && reserve - capacity > next)
        next = reserve - capacity;
    uint64_t unread = end > next ? end - next : 0;
    /* `end` may have been loaded later than `reserve`. */
    return unread > capacity ? capacity : unread;
}

bool spex_ring_drained(const struct spex_ring *ring) {
    return indices_waiting(ring) == 0;
}

bool spex_ring_stuck(const struct spex_ring *ring) {
    return ring->consumer->stuck_at != 0;
}

double spex_ring_fill(const struct spex_ring *ring) {
    return (double)indices_waiting(ring) / (double)(ring->mask + 1);
}

/* An abandoned index has no record; its writer took a later one. */
static uint64_t records_produced(const struct spex_ring *ring) {
    if (ring->commit == SPEX_COMMIT_RSEQ)
        return spex_load_relaxed(&ring->producer->commit);
    uint64_t abandoned = spex_load_relaxed(&ring->producer->abandoned);
    uint64_t indices = spex_load_relaxed(&ring->producer->reserve);
    return indices > abandoned ? indices - abandoned : 0;
}

struct spex_ring_counts spex_ring_count(const struct spex_ring *ring) {
    /* The order of these loads matters: a push or a read in between makes the pending records too
     * many, and no record seem lost. */
    uint64_t produced = records_produced(ring);
    uint64_t pending = indices_waiting(ring);
    uint64_t consumed = spex_load_relaxed(&ring->consumer->consumed);
    if (consumed > produced)
        consumed = produced;
    /* Some of the indices that wait may be abandoned, so they are not all records. */
    uint64_t unread = produced - consumed;
    if (pending > unread)
        pending = unread;
    return (struct spex_ring_counts){
        .produced = produced,
        .consumed = consumed,
        .pending = pending,
        .lost = unread - pending,
    };
}
