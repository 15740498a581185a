/* SPDX-License-Identifier: MIT */
/* A ring whose pushes and reads are taken apart into their steps, so that a test can stop a writer
 * or the reader between any two. Includes the source of the atomic way. */
#ifndef SPEX_TEST_RING_STEPS_H
#define SPEX_TEST_RING_STEPS_H

#include "queues/commit_atomic.c"

#define STEPS_CAPACITY_MAX 8

/* Records are of one word. */
struct fixture {
    struct spex_ring ring;
    struct spex_ring_producer producer;
    struct spex_ring_consumer consumer;
    uint64_t slots[STEPS_CAPACITY_MAX * 2];
};

/* A push that has got as far as reserving its index. */
struct writer {
    uint64_t index;
    uint64_t word;
};

static inline void fixture_setup(struct fixture *f, size_t capacity) {
    *f = (struct fixture){0};
    f->ring = (struct spex_ring){
        .producer = &f->producer,
        .consumer = &f->consumer,
        .slots = f->slots,
        .mask = capacity - 1,
        .record_words = 1,
        .commit = SPEX_COMMIT_ATOMIC,
    };
}

static inline void push(struct fixture *f, uint64_t word) {
    spex_atomic_push(&f->ring, &word);
}

static inline struct writer reserve(struct fixture *f, uint64_t word) {
    return (struct writer){spex_fetch_add_relaxed(&f->producer.reserve, 1) + 1, word};
}

static inline enum claim claim(struct fixture *f, const struct writer *w) {
    return slot_claim(slot_at(&f->ring, w->index), w->index);
}

static inline void write_word(struct fixture *f, const struct writer *w) {
    record_copy(slot_at(&f->ring, w->index) + 1, &w->word, 1);
}

static inline bool commit(struct fixture *f, const struct writer *w) {
    return slot_commit(slot_at(&f->ring, w->index), w->index);
}

/* As spex_atomic_push goes on after an index that held no record. */
static inline void push_again(struct fixture *f, const struct writer *w) {
    spex_fetch_add_relaxed(&f->producer.abandoned, 1);
    push(f, w->word);
}

/* A read has the same steps: which index is next, take, copy, give back, pass. */
static inline enum take take(struct fixture *f) {
    return slot_take(slot_at(&f->ring, f->consumer.passed + 1), f->consumer.passed + 1);
}

static inline uint64_t copy_word(struct fixture *f) {
    uint64_t word;
    record_copy(&word, slot_at(&f->ring, f->consumer.passed + 1) + 1, 1);
    return word;
}

static inline void give_back(struct fixture *f) {
    slot_give_back(slot_at(&f->ring, f->consumer.passed + 1), f->consumer.passed + 1);
    spex_store_relaxed(&f->consumer.consumed, f->consumer.consumed + 1);
    spex_store_relaxed(&f->consumer.passed, f->consumer.passed + 1);
}

#endif
