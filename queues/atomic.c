/* SPDX-License-Identifier: MIT */
/* Committing with atomic instructions: works on every processor and with any number of writers.
 *
 * Each slot has a state word, (index << 2 | phase), and only the holder of a slot in WRITING
 * touches its words:
 *
 *   FREE(k)       nothing readable under index k; the slot may be claimed
 *   WRITING(k)    the writer of index k fills it in
 *   COMMITTED(k)  the record of index k can be read; the slot may be claimed by a later index
 *   REVOKED(k)    index k holds no record, and an earlier writer is still inside the slot: it may
 *                 neither commit nor be overwritten, and will set FREE(k) when it is done
 *
 *   FREE/COMMITTED(j) ──claim k>j──► WRITING(k) ──commit──► COMMITTED(k)
 *                                       │
 *                     a later writer (k' > k) or the reader (k' = k) passes by
 *                                       ▼
 *                                    REVOKED(k') ──the writer of k leaves──► FREE(k')
 *
 * A fresh slot is all zeroes, FREE(0); indices start at 1, so any may claim it.
 *
 * Orders, each with its partner:
 *   A1 commit        release  ↔ R1 reader's first look, and W1 the next claim
 *   W1 claim         acquire  ↔ A1: our words come after the previous record's
 *   A2 each word     release  ↔ R2 reader's words: a reader that saw a word of ours sees, at R3,
 *                               the claim that went before it, and rejects the copy
 *   R3 second look   relaxed: R2 keeps it behind the words
 *   A3 leaving       release  ↔ W1: a slot set free after a revocation has no late words
 *   V1 revocation    acquire and release: stands in a writer's chain of states between its W1 and
 *                               the next one's, so that A3's pairing holds through it */
#include "ring.h"

#include <spex/atomic.h>

enum phase { FREE, WRITING, COMMITTED, REVOKED };

static uint64_t state_make(uint64_t index, enum phase phase) {
    return index << 2 | phase;
}

static uint64_t state_index(uint64_t state) {
    return state >> 2;
}

static enum phase state_phase(uint64_t state) {
    return (enum phase)(state & 3);
}

enum claim { CLAIMED, LAPPED, BUSY };

/* Makes this writer the owner of the slot, or says why not: LAPPED when a later index has had it
 * (our record would be the oldest, and is lost), BUSY when an earlier writer is still inside. */
static enum claim slot_claim(uint64_t *state, uint64_t index) {
    uint64_t seen = spex_load_relaxed(state);
    for (;;) {
        enum phase phase = state_phase(seen);
        if (state_index(seen) > index)
            return LAPPED;
        if (state_index(seen) == index)
            return BUSY; /* the reader gave this index up */
        if (phase == FREE || phase == COMMITTED) {
            if (spex_cas_acquire(state, &seen, state_make(index, WRITING))) /* W1 (A1, A3, V1) */
                return CLAIMED;
        } else if (spex_cas_acq_rel(state, &seen, state_make(index, REVOKED))) { /* V1 (W1, A3) */
            return BUSY;
        }
    }
}

/* Ends our ownership. False when the record has to be pushed again under a new index: the reader
 * gave this one up. A later writer's revocation is a lap, and the record is lost. */
static bool slot_commit(uint64_t *state, uint64_t index) {
    uint64_t seen = state_make(index, WRITING);
    if (spex_cas_release(state, &seen, state_make(index, COMMITTED))) /* A1 (R1, W1) */
        return true;
    for (;;) {
        uint64_t revoked_for = state_index(seen);
        if (spex_cas_release(state, &seen, state_make(revoked_for, FREE))) /* A3 (W1, V1) */
            return revoked_for != index;
    }
}

static bool push_at(struct spex_ring *ring, uint64_t index, const uint64_t *words) {
    uint64_t *state = &ring->states[index & ring->mask];
    switch (slot_claim(state, index)) {
    case LAPPED:
        return true;
    case BUSY:
        return false;
    case CLAIMED:
        break;
    }
    uint64_t *slot = &ring->words[(index & ring->mask) * ring->slot_words];
    for (uint32_t i = 0; i < ring->slot_words; i++)
        spex_store_release(&slot[i], words[i]); /* A2 (R2) */
    return slot_commit(state, index);
}

bool spex_ring_push(struct spex_ring *ring, const uint64_t *words) {
    /* A slot is busy when its writer was preempted a whole lap ago. When that holds for every slot,
     * the record is lost, as its last index is counted and never abandoned. */
    for (uint64_t attempt = 0;; attempt++) {
        /* Relaxed: only the number matters; the slot's state orders the rest. */
        uint64_t index = spex_fetch_add_relaxed(&ring->reserve, 1);
        if (push_at(ring, index, words) || attempt == ring->mask)
            return (index & ring->mask >> 2) == 0;
        spex_fetch_add_relaxed(&ring->abandoned, 1);
    }
}

enum look { READ, EMPTY, NOT_YET, PASSED };

static enum look slot_read(struct spex_ring *ring, uint64_t index, uint64_t *out) {
    const uint64_t *state = &ring->states[index & ring->mask];
    uint64_t first = spex_load_acquire(state); /* R1 (A1) */
    if (state_index(first) > index)
        return PASSED;
    if (state_index(first) < index)
        return NOT_YET;
    switch (state_phase(first)) {
    case FREE:
    case REVOKED:
        return EMPTY;
    case WRITING:
        return NOT_YET;
    case COMMITTED:
        break;
    }
    const uint64_t *slot = &ring->words[(index & ring->mask) * ring->slot_words];
    for (uint32_t i = 0; i < ring->slot_words; i++)
        out[i] = spex_load_acquire(&slot[i]);                 /* R2 (A2) */
    return spex_load_relaxed(state) == first ? READ : PASSED; /* R3 */
}

/* Gives up an index that is reserved but not committed, so that the reader can get past it. */
static void slot_give_up(struct spex_ring *ring, uint64_t index) {
    uint64_t *state = &ring->states[index & ring->mask];
    uint64_t seen = spex_load_relaxed(state);
    for (;;) {
        enum phase phase = state_phase(seen);
        if (state_index(seen) > index || (state_index(seen) == index && phase != WRITING))
            return; /* settled meanwhile */
        bool inside = phase == WRITING || phase == REVOKED;
        if (spex_cas_acq_rel(state, &seen,
                             state_make(index, inside ? REVOKED : FREE))) /* V1 (W1, A3) */
            return;
    }
}

/* The oldest index that can still be in the ring. */
static uint64_t oldest(const struct spex_ring *ring, uint64_t next) {
    uint64_t reserve = spex_load_relaxed(&ring->reserve);
    uint64_t capacity = ring->mask + 1;
    return reserve > next + capacity ? reserve - capacity : next;
}

size_t spex_ring_read(struct spex_ring *ring, uint64_t *out, size_t max) {
    uint64_t next = ring->next;
    uint64_t stuck_at = ring->stuck_at;
    size_t count = 0;
    ring->stuck_at = 0;
    while (count < max) {
        next = oldest(ring, next);
        if (next >= spex_load_relaxed(&ring->reserve))
            break;
        enum look look = slot_read(ring, next, out + count * ring->slot_words);
        if (look == NOT_YET) {
            if (next != stuck_at) {
                ring->stuck_at = next;
                break;
            }
            slot_give_up(ring, next);
            continue;
        }
        count += look == READ;
        next++;
    }
    /* Relaxed: the consumer is alone; others read these two as figures only. */
    spex_store_relaxed(&ring->consumed, ring->consumed + count);
    spex_store_relaxed(&ring->next, next);
    return count;
}
