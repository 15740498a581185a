/* SPDX-License-Identifier: MIT */
/* Writers stopped between two steps of a push while others and the reader go on: the paths that a
 * program takes when a thread is preempted for a whole lap. Includes the source, so that a push can
 * be taken apart into its steps. */
#include <stdlib.h>

#include "../../queues/atomic.c"
#include "../check.h"

/* A push that has got as far as reserving its index. */
struct writer {
    uint64_t index;
    uint64_t word;
};

struct fixture {
    struct spex_ring ring;
    uint64_t memory[2 * 64];
};

static void fixture_setup(struct fixture *f, size_t capacity) {
    *f = (struct fixture){0};
    spex_ring_init(&f->ring, f->memory, capacity, 1);
}

static void push(struct fixture *f, uint64_t word) {
    spex_ring_push(&f->ring, &word);
}

static struct writer reserve(struct fixture *f, uint64_t word) {
    return (struct writer){spex_fetch_add_relaxed(&f->ring.reserve, 1), word};
}

static enum claim claim(struct fixture *f, const struct writer *w) {
    return slot_claim(&f->ring.states[w->index & f->ring.mask], w->index);
}

static void write_word(struct fixture *f, const struct writer *w) {
    spex_store_release(&f->ring.words[w->index & f->ring.mask], w->word);
}

static bool commit(struct fixture *f, const struct writer *w) {
    return slot_commit(&f->ring.states[w->index & f->ring.mask], w->index);
}

/* As spex_ring_push goes on after an index that held no record. */
static void push_again(struct fixture *f, const struct writer *w) {
    spex_fetch_add_relaxed(&f->ring.abandoned, 1);
    push(f, w->word);
}

static void expect_read(struct fixture *f, size_t count, const uint64_t *words) {
    uint64_t out[64];
    assert_int_equal(spex_ring_read(&f->ring, out, COUNT_OF(out)), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(out[i], words[i]);
}

#define EXPECT_READ(f, ...)                                                                        \
    expect_read(f, COUNT_OF(((uint64_t[]){__VA_ARGS__})), (uint64_t[]){__VA_ARGS__})
#define EXPECT_NOTHING(f) expect_read(f, 0, NULL)

static void expect_accounts(struct fixture *f, uint64_t produced, uint64_t consumed,
                            uint64_t lost) {
    struct spex_ring_counts counts = spex_ring_count(&f->ring);
    assert_true(spex_ring_drained(&f->ring));
    assert_int_equal(counts.produced, produced);
    assert_int_equal(counts.consumed, consumed);
    assert_int_equal(counts.lost, lost);
    assert_int_equal(counts.pending, 0);
}

static void the_reader_waits_one_visit_for_a_writer(void **state) {
    struct fixture f;
    (void)state;
    fixture_setup(&f, 8);
    push(&f, 1);
    struct writer slow = reserve(&f, 2);
    push(&f, 3);
    EXPECT_READ(&f, 1);
    assert_int_equal(claim(&f, &slow), CLAIMED);
    write_word(&f, &slow);
    assert_true(commit(&f, &slow));
    EXPECT_READ(&f, 2, 3);
    expect_accounts(&f, 3, 3, 0);
}

static void a_writer_passed_before_its_claim_pushes_again(void **state) {
    struct fixture f;
    (void)state;
    fixture_setup(&f, 8);
    push(&f, 1);
    struct writer slow = reserve(&f, 2);
    push(&f, 3);
    EXPECT_READ(&f, 1);
    assert_true(spex_ring_stuck(&f.ring));
    EXPECT_READ(&f, 3);
    assert_false(spex_ring_stuck(&f.ring));
    assert_int_equal(claim(&f, &slow), BUSY);
    push_again(&f, &slow);
    EXPECT_READ(&f, 2);
    expect_accounts(&f, 3, 3, 0);
}

static void a_writer_passed_in_mid_write_pushes_again(void **state) {
    struct fixture f;
    (void)state;
    fixture_setup(&f, 8);
    struct writer slow = reserve(&f, 1);
    assert_int_equal(claim(&f, &slow), CLAIMED);
    push(&f, 2);
    EXPECT_NOTHING(&f);
    EXPECT_READ(&f, 2);
    write_word(&f, &slow);
    assert_false(commit(&f, &slow));
    push_again(&f, &slow);
    EXPECT_READ(&f, 1);
    expect_accounts(&f, 2, 2, 0);
}

/* The slot must not go to a second writer while the first is still inside; it serves again later.
 */
static void a_lapped_writer_keeps_its_slot_and_loses_its_record(void **state) {
    struct fixture f;
    (void)state;
    fixture_setup(&f, 4);
    struct writer slow = reserve(&f, 1);
    assert_int_equal(claim(&f, &slow), CLAIMED);
    for (uint64_t word = 2; word <= 5; word++)
        push(&f, word); /* 5 comes round to the slot and takes the next one: 2 is overwritten */
    write_word(&f, &slow);
    assert_true(commit(&f, &slow));
    EXPECT_READ(&f, 3, 4, 5);
    expect_accounts(&f, 5, 3, 2);
    for (uint64_t word = 6; word <= 9; word++)
        push(&f, word);
    EXPECT_READ(&f, 6, 7, 8, 9);
    expect_accounts(&f, 9, 7, 2);
}

static void a_writer_lapped_before_its_claim_loses_its_record(void **state) {
    struct fixture f;
    (void)state;
    fixture_setup(&f, 4);
    struct writer slow = reserve(&f, 1);
    for (uint64_t word = 2; word <= 5; word++)
        push(&f, word);
    assert_int_equal(claim(&f, &slow), LAPPED);
    EXPECT_READ(&f, 2, 3, 4, 5);
    expect_accounts(&f, 5, 4, 1);
}

static void a_writer_revoked_twice_loses_its_record_once(void **state) {
    struct fixture f;
    (void)state;
    fixture_setup(&f, 2);
    struct writer slow = reserve(&f, 1);
    assert_int_equal(claim(&f, &slow), CLAIMED);
    for (uint64_t word = 2; word <= 7; word++)
        push(&f, word);
    assert_true(commit(&f, &slow));
    uint64_t out[2];
    uint64_t consumed = 0, some;
    while ((some = spex_ring_read(&f.ring, out, 2)) > 0)
        consumed += some;
    assert_in_range(consumed, 1, 2);
    expect_accounts(&f, 7, consumed, 7 - consumed);
    push(&f, 8);
    push(&f, 9);
    EXPECT_READ(&f, 8, 9);
}

static void passed_then_lapped(void **state) {
    struct fixture f;
    (void)state;
    fixture_setup(&f, 2);
    struct writer slow = reserve(&f, 1);
    assert_int_equal(claim(&f, &slow), CLAIMED);
    EXPECT_NOTHING(&f);
    EXPECT_NOTHING(&f); /* passed: 1 would be pushed again … */
    push(&f, 2);
    push(&f, 3); /* … but 3 comes round to its slot first: now it is lapped */
    assert_true(commit(&f, &slow));
    EXPECT_READ(&f, 3);
    expect_accounts(&f, 3, 1, 2);
}

/* Nowhere to go: the record is lost, and counted, within one lap. */
static void a_push_ends_when_every_slot_is_busy(void **state) {
    struct fixture f;
    struct writer slow[4];
    (void)state;
    fixture_setup(&f, 4);
    for (uint64_t i = 0; i < 4; i++) {
        slow[i] = reserve(&f, i);
        assert_int_equal(claim(&f, &slow[i]), CLAIMED);
    }
    push(&f, 100);
    push(&f, 101);
    for (int i = 0; i < 4; i++)
        assert_true(commit(&f, &slow[i]));
    while (!spex_ring_drained(&f.ring))
        EXPECT_NOTHING(&f);
    expect_accounts(&f, 6, 0, 6);
    push(&f, 102);
    EXPECT_READ(&f, 102);
    expect_accounts(&f, 7, 1, 6);
}

/* A reader that finds several unfinished records in a row passes one a visit, and never one that it
 * sees for the first time. */
static void every_unfinished_record_is_given_a_visit(void **state) {
    struct fixture f;
    struct writer slow[3];
    (void)state;
    fixture_setup(&f, 8);
    for (uint64_t i = 0; i < 3; i++)
        slow[i] = reserve(&f, i);
    push(&f, 9);
    for (int i = 0; i < 3; i++)
        EXPECT_NOTHING(&f);
    EXPECT_READ(&f, 9);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(claim(&f, &slow[i]), BUSY);
        push_again(&f, &slow[i]);
    }
    EXPECT_READ(&f, 0, 1, 2);
    expect_accounts(&f, 4, 4, 0);
}

/* With a writer stopped for good, the ring goes on with one slot less, whatever comes. */
static void a_dead_writer_costs_one_slot(void **state) {
    struct fixture f;
    uint64_t seed = 4, word = 0, last = 0, consumed = 0;
    (void)state;
    fixture_setup(&f, 4);
    struct writer dead = reserve(&f, 0);
    assert_int_equal(claim(&f, &dead), CLAIMED);
    for (int step = 0; step < 10000; step++) {
        uint64_t out[4];
        for (uint64_t pushes = random_below(&seed, 7); pushes > 0; pushes--)
            push(&f, ++word);
        size_t count = spex_ring_read(&f.ring, out, random_below(&seed, 5));
        consumed += count;
        for (size_t i = 0; i < count; i++) {
            assert_true(out[i] > last);
            last = out[i];
        }
    }
    uint64_t out[4];
    while (!spex_ring_drained(&f.ring))
        consumed += spex_ring_read(&f.ring, out, 4);
    assert_true(consumed > word / 3);
    expect_accounts(&f, word + 1, consumed, word + 1 - consumed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reader_waits_one_visit_for_a_writer),
        cmocka_unit_test(a_writer_passed_before_its_claim_pushes_again),
        cmocka_unit_test(a_writer_passed_in_mid_write_pushes_again),
        cmocka_unit_test(a_lapped_writer_keeps_its_slot_and_loses_its_record),
        cmocka_unit_test(a_writer_lapped_before_its_claim_loses_its_record),
        cmocka_unit_test(a_writer_revoked_twice_loses_its_record_once),
        cmocka_unit_test(passed_then_lapped),
        cmocka_unit_test(a_push_ends_when_every_slot_is_busy),
        cmocka_unit_test(every_unfinished_record_is_given_a_visit),
        cmocka_unit_test(a_dead_writer_costs_one_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
