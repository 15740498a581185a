/* SPDX-License-Identifier: MIT */
/* Committing with atomic instructions: works on every processor and with any number of writers.
 *
 * A slot is a state word, (index << 2 | phase), followed by a record. Only the slot's holder touches
 * the record, with plain accesses; a slot has a holder, and one, while it is HELD or REVOKED.
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
 * Revoking and giving up are relaxed: who does them touches no record and hands none on. They do not
 * come between a release and an acquire either. Every change of a state is a read-modify-write, so
 * all states after a release belong to its release sequence, and who takes the slot by an acquire
 * comes after everyone that has left it by a release, whatever was changed in between. */
#include "atomic.h"

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

/* Its state; the record is behind it. */
static uint64_t *slot_at(const struct spex_ring *ring, uint64_t index) {
    return &ring->slots[(index & ring->mask) * (ring->record_words + 1)];
}

static void record_copy(uint64_t *to, const uint64_t *from, uint32_t words) {
    for (uint32_t i = 0; i < words; i++)
        to[i] = from[i];
}

/* How a holder leaves that was revoked; `seen` is the state it found. Returns the index that it was
 * revoked for. */
static uint64_t slot_leave(uint64_t *state, uint64_t seen) {
    while (!spex_cas_release(state, &seen, state_make(state_index(seen), FREE))) /* L1 (W1) */
        ; /* revoked again, for a later index */
    return state_index(seen);
}

enum claim { CLAIMED, LAPPED, BUSY };

/* Makes this writer the holder of the slot, or says why not: LAPPED when a later index has had it
 * (our record would be the oldest, and is lost), BUSY when an earlier holder is still inside or the
 * reader has given the index up. */
static enum claim slot_claim(uint64_t *state, uint64_t index) {
    uint64_t seen = spex_load_relaxed(state); /* a guess, which the exchange confirms */
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

/* Ends the writer's hold. False when the record has to be pushed again under a new index: the reader
 * gave this one up. A later writer's revocation is a lap, and the record is lost. */
static bool slot_commit(uint64_t *state, uint64_t index) {
    uint64_t seen = state_make(index, HELD);
    if (spex_cas_release(state, &seen, state_make(index, COMMITTED))) /* W2 (W1, R1) */
        return true;
    return slot_leave(state, seen) != index;
}

/* False when index holds no record and never will. */
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
    /* A slot is busy when its holder was preempted a whole lap ago. When that holds for every slot,
     * the record is lost, as its last index is counted and never abandoned. */
    for (uint64_t attempt = 0;; attempt++) {
        /* Relaxed, as `abandoned`: only the number matters; the slot's state orders the rest. */
        uint64_t index = spex_fetch_add_relaxed(&ring->producer->reserve, 1) + 1;
        quarter |= (index & ring->mask >> 2) == 0;
        if (push_at(ring, index, words) || attempt == ring->mask)
            return quarter;
        spex_fetch_add_relaxed(&ring->producer->abandoned, 1);
    }
}

enum take { TAKEN, NOT_YET, NOTHING };

/* Makes the reader the holder of the record of this index, if it is there: NOT_YET when it may still
 * come, NOTHING when it will not. */
static enum take slot_take(uint64_t *state, uint64_t index) {
    uint64_t seen = state_make(index, COMMITTED);
    if (spex_cas_acquire(state, &seen, state_make(index, HELD))) /* R1 (W2) */
        return TAKEN;
    if (state_index(seen) < index || seen == state_make(index, HELD))
        return NOT_YET;
    return NOTHING;
}

/* Ends the reader's hold. If a writer has come round meanwhile, the copy is good all the same. */
static void slot_give_back(uint64_t *state, uint64_t index) {
    uint64_t seen = state_make(index, HELD);
    if (!spex_cas_release(state, &seen, state_make(index, FREE))) /* R2 (W1) */
        slot_leave(state, seen);
}

/* Gives up an index that was NOT_YET, so that the reader can get past it. */
static void slot_give_up(uint64_t *state, uint64_t index) {
    uint64_t seen = spex_load_relaxed(state); /* a guess, which the exchange confirms */
    for (;;) {
        if (state_index(seen) > index)
            return; /* settled meanwhile, as below */
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
        /* Relaxed, as in push. */
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
    /* The consumer is alone; others take accounts by these two, in the other order. */
    spex_store_relaxed(&consumer->consumed, consumer->consumed + count);
    spex_store_release(&consumer->passed, passed); /* P1 (P2 in ring.c) */
    return count;
}
