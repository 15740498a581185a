/* SPDX-License-Identifier: MIT */
/* What all rings share whatever their way of committing: memory layout and the accounts. */
#include "ring.h"

#include <spex/atomic.h>

size_t spex_ring_bytes(size_t capacity, uint32_t slot_words) {
    return capacity * (slot_words + 1) * sizeof(uint64_t);
}

void spex_ring_init(struct spex_ring *ring, void *memory, size_t capacity, uint32_t slot_words) {
    *ring = (struct spex_ring){
        .words = memory,
        .states = (uint64_t *)memory + capacity * slot_words,
        .mask = capacity - 1,
        .slot_words = slot_words,
        .reserve = SPEX_RING_FIRST_INDEX,
        .next = SPEX_RING_FIRST_INDEX,
    };
}

bool spex_ring_drained(const struct spex_ring *ring) {
    return spex_load_relaxed(&ring->next) >= spex_load_relaxed(&ring->reserve);
}

bool spex_ring_stuck(const struct spex_ring *ring) {
    return ring->stuck_at != 0;
}

/* At most a whole ring waits, however many indices have been handed out. */
static uint64_t waiting(const struct spex_ring *ring) {
    uint64_t next = spex_load_relaxed(&ring->next);
    uint64_t reserve = spex_load_relaxed(&ring->reserve);
    uint64_t unread = reserve > next ? reserve - next : 0;
    return unread > ring->mask + 1 ? ring->mask + 1 : unread;
}

double spex_ring_fill(const struct spex_ring *ring) {
    return (double)waiting(ring) / (double)(ring->mask + 1);
}

struct spex_ring_counts spex_ring_count(const struct spex_ring *ring) {
    /* Relaxed: figures for people while the ring is in use, exact once it is at rest. */
    uint64_t consumed = spex_load_relaxed(&ring->consumed);
    uint64_t abandoned = spex_load_relaxed(&ring->abandoned);
    uint64_t indices = spex_load_relaxed(&ring->reserve) - SPEX_RING_FIRST_INDEX;
    uint64_t produced = indices > abandoned ? indices - abandoned : 0;
    /* Of the indices that wait, some may be abandoned. */
    uint64_t unread = produced > consumed ? produced - consumed : 0;
    uint64_t pending = waiting(ring);
    if (pending > unread)
        pending = unread;
    return (struct spex_ring_counts){
        .produced = produced,
        .consumed = consumed,
        .pending = pending,
        .lost = unread - pending,
    };
}
