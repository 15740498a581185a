/* SPDX-License-Identifier: MIT */
/* Commits with atomic instructions. Works on every processor, with any number of writers.
 *
 * A slot is a state word, (index << 2 | phase), followed by a record. Only the slot's holder
 * accesses the record, by plain loads and stores. A slot that is HELD or REVOKED has one holder,
 * others none.
 *
 *   FREE(k)       no record is under index k; a later index may claim the slot
 *   HELD(k)       the writer of index k fills it in, or the reader copies the record of index k
 *   COMMITTED(k)  the record of index k is there; the reader or a later index may take the slot
 *   REVOKED(k)    index k holds no record; an earlier holder is still inside, and sets FREE(k) when
 *                 it leaves
 *
 *   FREE(j), COMMITTED(j) ──writer of k > j claims──► HELD(k) ──commits───► COMMITTED(k)
 *            COMMITTED(k) ──reader takes────────────► HELD(k) ──gives back► FREE(k)
 *   HELD(j), REVOKED(j) ──writer of k > j comes by──► REVOKED(k) ──holder leaves──► FREE(k)
 *   HELD(j), REVOKED(j) ──reader gives k ≥ j up─────► REVOKED(k)
 *   FREE(j), COMMITTED(j) ──reader gives k > j up───► FREE(k)
 *
 * A fresh slot is all zeroes, FREE(0); indices start at 1, so any may claim it.
 *
 * Orders, each with its partners:
 *   W1 claim      acquire  ↔ W2, R2, L1: our words come after what earlier holders wrote and read
 *   W2 commit     release  ↔ R1 the reader that takes the record, W1 the writer that overwrites it
 *   R1 take       acquire  ↔ W2: the words we copy are the writer's
 *   R2 give back  release  ↔ W1: the next writer's words come after our copy
 *   L1 leave      release  ↔ W1: a holder that was revoked has no late accesses
 *
 * Revoking and giving up are relaxed, because neither accesses a record or hands one on. They do
 * not break the order between a release and an acquire: every change of a state is a
 * read-modify-write, so all states after a release belong to its release sequence. A thread that
 * takes the slot by an acquire therefore comes after all threads that have left it by a release. */
#include "queues/commit_atomic.h"

#include <spex/atomic.h>

enum phase { FREE, HELD, COMMITTED, REVOKED };

static uint64_t state_make(uint64_t index, enum phase phase) {
    return index << 2 | phase;
}

static uint64_t state_index(uint64_t state) {
    return state >> 2;
}

static enum phase state_phase(uint64_t state) {
    return (enum phase)(state & 3);
}

static bool state_has_holder(uint64_t state) {
    return state_phase(state) == HELD || state_phase(state) == REVOKED;
}

/* The state word of the slot of `index`. The record follows it. */
static uint64_t *slot_at(const struct spex_ring *ring, uint64_t index) {
    return &ring->slots[(index & ring->mask) * (ring->record_words + 1)];
}

static void record_copy(uint64_t *to, const uint64_t *from, uint32_t words) {
    for (uint32_t i = 0; i < words; i++)
        to[i] = from[i];
}

/* A holder whose slot was revoked leaves it. `seen` is the state that it found. Returns the index
 * of the writer that revoked the slot. */
static uint64_t slot_leave(uint64_t *state, uint64_t seen) {
    while (!spex_cas_release(state, &seen, state_make(state_index(seen), FREE))) /* L1 (W1) */
        ; /* revoked again, by a later index */
    return state_index(seen);
}

enum claim { CLAIMED, LAPPED, BUSY };

/* Makes this writer the holder of the slot. Returns CLAIMED; LAPPED when a later index has had the
 * slot: the record would be the oldest one, and is lost; or BUSY when an earlier holder has not
 * left yet, or the reader has given the index up. */
static enum claim slot_claim(uint64_t *state, uint64_t index) {
    uint64_t seen = spex_load_relaxed(state); /* the exchange checks it */
    for (;;) {
        if (state_index(seen) > index)
            return LAPPED;
        if (state_index(seen) == index)
            return BUSY;
        if (state_has_holder(seen)) {
            if (spex_cas_relaxed(state, &seen, state_make(index, REVOKED)))
                return BUSY;
        } else if (spex_cas_acquire(state, &seen, state_make(index, HELD))) { /* W1 (W2, R2, L1) */
            return CLAIMED;
        }
    }
}

/* Ends the writer's hold. Returns false when the reader has given the index up: the record is then
 * pushed again under a new index. When a later writer has revoked the slot, the record is lost. */
static bool slot_commit(uint64_t *state, uint64_t index) {
    uint64_t seen = state_make(index, HELD);
    if (spex_cas_release(state, &seen, state_make(index, COMMITTED))) /* W2 (W1, R1) */
        return true;
    return slot_leave(state, seen) != index;
}

/* Returns false when no record will be under this index. */
static bool push_at(const struct spex_ring *ring, uint64_t index, const uint64_t *words) {
    uint64_t *slot = slot_at(ring, index);
    enum claim claim = slot_claim(slot, index);
    if (claim != CLAIMED)
        return claim == LAPPED;
    record_copy(slot + 1, words, ring->record_words);
    return slot_commit(slot, index);
}

bool spex_atomic_push(const struct spex_ring *ring, const uint64_t *words) {
    bool quarter = false;
    /* A slot is busy when its holder was preempted a whole lap ago. When every slot is busy, the
     * record is lost: its last index is counted as produced and not as abandoned. */
    for (uint64_t attempt = 0;; attempt++) {
        /* Relaxed, like `abandoned`: it only hands out numbers. The slot's state orders the rest.
         * */
        uint64_t index = spex_fetch_add_relaxed(&ring->producer->reserve, 1) + 1;
        quarter |= (index & ring->mask >> 2) == 0;
        if (push_at(ring, index, words) || attempt == ring->mask)
            return quarter;
        spex_fetch_add_relaxed(&ring->producer->abandoned, 1);
    }
}

enum take { TAKEN, NOT_YET, NOTHING };

/* Makes the reader the holder of the record of this index, if the record is there (TAKEN). Returns
 * NOT_YET when a writer may still commit it, NOTHING when none will. */
static enum take slot_take(uint64_t *state, uint64_t index) {
    uint64_t seen = state_make(index, COMMITTED);
    if (spex_cas_acquire(state, &seen, state_make(index, HELD))) /* R1 (W2) */
        return TAKEN;
    if (state_index(seen) < index || seen == state_make(index, HELD))
        return NOT_YET;
    return NOTHING;
}

/* Ends the reader's hold. The copy is whole, even when a writer has revoked the slot meanwhile. */
static void slot_give_back(uint64_t *state, uint64_t index) {
    uint64_t seen = state_make(index, HELD);
    if (!spex_cas_release(state, &seen, state_make(index, FREE))) /* R2 (W1) */
        slot_leave(state, seen);
}

/* Gives up an index that was NOT_YET, so that the reader can pass it. */
static void slot_give_up(uint64_t *state, uint64_t index) {
    uint64_t seen = spex_load_relaxed(state); /* the exchange checks it */
    for (;;) {
        if (state_index(seen) > index)
            return; /* a writer has finished meanwhile, as below */
        if (state_index(seen) == index && state_phase(seen) != HELD)
            return;
        enum phase phase = state_has_holder(seen) ? REVOKED : FREE;
        if (spex_cas_relaxed(state, &seen, state_make(index, phase)))
            return;
    }
}

static enum take take_at(const struct spex_ring *ring, uint64_t index, uint64_t *out) {
    uint64_t *slot = slot_at(ring, index);
    enum take take = slot_take(slot, index);
    if (take == TAKEN) {
        record_copy(out, slot + 1, ring->record_words);
        slot_give_back(slot, index);
    }
    return take;
}

size_t spex_atomic_read(const struct spex_ring *ring, uint64_t *out, size_t max) {
    struct spex_ring_consumer *consumer = ring->consumer;
    uint64_t capacity = ring->mask + 1;
    uint64_t passed = consumer->passed;
    uint64_t stuck_at = consumer->stuck_at;
    size_t count = 0;
    consumer->stuck_at = 0;
    while (count < max) {
        /* Relaxed, as in spex_atomic_push. */
        uint64_t reserve = spex_load_relaxed(&ring->producer->reserve);
        if (reserve <= passed)
            break;
        if (reserve - passed > capacity)
            passed = reserve - capacity;
        uint64_t index = passed + 1;
        enum take take = take_at(ring, index, out + count * ring->record_words);
        if (take == NOT_YET) {
            if (index != stuck_at) {
                consumer->stuck_at = index;
                break;
            }
            slot_give_up(slot_at(ring, index), index);
            continue;
        }
        count += take == TAKEN;
        passed = index;
    }
    /* There is one consumer. Other threads load these two in the opposite order. */
    spex_store_relaxed(&consumer->consumed, consumer->consumed + count);
    spex_store_release(&consumer->passed, passed); /* P1 (P2 in ring.c) */
    return count;
}
