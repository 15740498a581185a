/* SPDX-License-Identifier: MIT */
/* What rings share whatever their way of committing: sizes, and the accounts. Counters of others
 * are loaded relaxed: they are figures for people while the ring is in use, exact once it is at
 * rest. */
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

/* Indices between what has been passed or overwritten and the newest. */
static uint64_t waiting(const struct spex_ring *ring) {
    uint64_t capacity = ring->mask + 1;
    uint64_t next = spex_load_acquire(
        &ring->consumer->passed); /* P2 (P1 in commit_atomic.c, P1 in commit_rseq.c) */
    uint64_t reserve = spex_load_relaxed(&ring->producer->reserve);
    uint64_t end =
        ring->commit == SPEX_COMMIT_ATOMIC ? reserve : spex_load_relaxed(&ring->producer->commit);
    if (reserve > capacity && reserve - capacity > next)
        next = reserve - capacity;
    uint64_t unread = end > next ? end - next : 0;
    return unread > capacity ? capacity : unread; /* `end` may be younger than `reserve` */
}

bool spex_ring_drained(const struct spex_ring *ring) {
    return waiting(ring) == 0;
}

bool spex_ring_stuck(const struct spex_ring *ring) {
    return ring->consumer->stuck_at != 0;
}

double spex_ring_fill(const struct spex_ring *ring) {
    return (double)waiting(ring) / (double)(ring->mask + 1);
}

static uint64_t produced_by(const struct spex_ring *ring) {
    if (ring->commit == SPEX_COMMIT_RSEQ)
        return spex_load_relaxed(&ring->producer->commit);
    uint64_t abandoned = spex_load_relaxed(&ring->producer->abandoned);
    uint64_t indices = spex_load_relaxed(&ring->producer->reserve);
    return indices > abandoned ? indices - abandoned : 0;
}

struct spex_ring_counts spex_ring_count(const struct spex_ring *ring) {
    /* In this order a push or a read in between makes more of what is pending, and nothing seem
     * lost. */
    uint64_t produced = produced_by(ring);
    uint64_t pending = waiting(ring);
    uint64_t consumed = spex_load_relaxed(&ring->consumer->consumed);
    if (consumed > produced)
        consumed = produced;
    /* Of the indices that wait, some may be abandoned. */
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
