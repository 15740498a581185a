/* SPDX-License-Identifier: MIT */
/* Writers and the reader stopped between two steps while the others go on: the paths that a program
 * takes when a thread is preempted for a whole lap. One thread takes all the steps. */
#include "../ring_steps.h"
#include "../check.h"
#include "queues/ring.h"

static void expect_read(struct fixture *f, size_t count, const uint64_t *words) {
    uint64_t out[STEPS_CAPACITY_MAX];
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

static struct writer reserve_and_claim(struct fixture *f, uint64_t word) {
    struct writer writer = reserve(f, word);
    assert_int_equal(claim(f, &writer), CLAIMED);
    return writer;
}

static void write_and_commit(struct fixture *f, const struct writer *writer) {
    write_word(f, writer);
    assert_true(commit(f, writer));
}

/* For a writer whose index the reader has passed. */
static void expect_busy_and_push_again(struct fixture *f, const struct writer *writer) {
    assert_int_equal(claim(f, writer), BUSY);
    push_again(f, writer);
}

static void push_words(struct fixture *f, uint64_t first, uint64_t last) {
    for (uint64_t word = first; word <= last; word++)
        push(f, word);
}

TEST(the_reader_waits_one_visit_for_a_writer) {
    struct fixture f;
    fixture_setup(&f, 8);
    push(&f, 1);
    struct writer slow = reserve(&f, 2);
    push(&f, 3);
    EXPECT_READ(&f, 1);
    assert_int_equal(claim(&f, &slow), CLAIMED);
    write_and_commit(&f, &slow);
    EXPECT_READ(&f, 2, 3);
    expect_accounts(&f, 3, 3, 0);
}

TEST(a_writer_passed_before_its_claim_pushes_again) {
    struct fixture f;
    fixture_setup(&f, 8);
    push(&f, 1);
    struct writer slow = reserve(&f, 2);
    push(&f, 3);
    EXPECT_READ(&f, 1);
    assert_true(spex_ring_stuck(&f.ring));
    EXPECT_READ(&f, 3);
    assert_false(spex_ring_stuck(&f.ring));
    expect_busy_and_push_again(&f, &slow);
    EXPECT_READ(&f, 2);
    expect_accounts(&f, 3, 3, 0);
}

TEST(a_writer_passed_in_mid_write_pushes_again) {
    struct fixture f;
    fixture_setup(&f, 8);
    struct writer slow = reserve_and_claim(&f, 1);
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
TEST(a_lapped_writer_keeps_its_slot_and_loses_its_record) {
    struct fixture f;
    fixture_setup(&f, 4);
    struct writer slow = reserve_and_claim(&f, 1);
    push_words(&f, 2, 5); /* 5 comes round to the slot and takes the next one: 2 is overwritten */
    write_and_commit(&f, &slow);
    EXPECT_READ(&f, 3, 4, 5);
    expect_accounts(&f, 5, 3, 2);
    push_words(&f, 6, 9);
    EXPECT_READ(&f, 6, 7, 8, 9);
    expect_accounts(&f, 9, 7, 2);
}

TEST(a_writer_lapped_before_its_claim_loses_its_record) {
    struct fixture f;
    fixture_setup(&f, 4);
    struct writer slow = reserve(&f, 1);
    push_words(&f, 2, 5);
    assert_int_equal(claim(&f, &slow), LAPPED);
    EXPECT_READ(&f, 2, 3, 4, 5);
    expect_accounts(&f, 5, 4, 1);
}

TEST(a_writer_revoked_twice_loses_its_record_once) {
    struct fixture f;
    fixture_setup(&f, 2);
    struct writer slow = reserve_and_claim(&f, 1);
    push_words(&f, 2, 7);
    assert_true(commit(&f, &slow));
    uint64_t out[2];
    uint64_t consumed = 0, some;
    while ((some = spex_ring_read(&f.ring, out, 2)) > 0)
        consumed += some;
    assert_in_range(consumed, 1, 2);
    expect_accounts(&f, 7, consumed, 7 - consumed);
    push_words(&f, 8, 9);
    EXPECT_READ(&f, 8, 9);
}

TEST(passed_then_lapped) {
    struct fixture f;
    fixture_setup(&f, 2);
    struct writer slow = reserve_and_claim(&f, 1);
    EXPECT_NOTHING(&f);
    EXPECT_NOTHING(&f); /* passed: 1 would be pushed again … */
    push(&f, 2);
    push(&f, 3); /* … but 3 comes round to its slot first: now it is lapped */
    assert_true(commit(&f, &slow));
    EXPECT_READ(&f, 3);
    expect_accounts(&f, 3, 1, 2);
}

/* Nowhere to go: the record is lost, and counted, within one lap. */
TEST(a_push_ends_when_every_slot_is_busy) {
    struct fixture f;
    struct writer slow[4];
    fixture_setup(&f, 4);
    for (uint64_t i = 0; i < 4; i++) {
        slow[i] = reserve_and_claim(&f, i);
    }
    push_words(&f, 100, 101);
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
TEST(every_unfinished_record_is_given_a_visit) {
    struct fixture f;
    struct writer slow[3];
    fixture_setup(&f, 8);
    for (uint64_t i = 0; i < 3; i++)
        slow[i] = reserve(&f, i);
    push(&f, 9);
    for (int i = 0; i < 3; i++)
        EXPECT_NOTHING(&f);
    EXPECT_READ(&f, 9);
    for (int i = 0; i < 3; i++) {
        expect_busy_and_push_again(&f, &slow[i]);
    }
    EXPECT_READ(&f, 0, 1, 2);
    expect_accounts(&f, 4, 4, 0);
}

/* With a writer stopped for good, the ring goes on with one slot less, whatever comes. */
TEST(a_dead_writer_costs_one_slot) {
    struct fixture f;
    uint64_t seed = 4, word = 0, last = 0, consumed = 0;
    fixture_setup(&f, 4);
    (void)reserve_and_claim(&f, 0);
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

/* The slot holds a later record by the time the reader gets there. */
TEST(a_record_overwritten_before_it_is_taken_is_lost) {
    struct fixture f;
    fixture_setup(&f, 2);
    push_words(&f, 1, 3);
    assert_int_equal(take(&f), NOTHING);
    EXPECT_READ(&f, 2, 3);
    expect_accounts(&f, 3, 2, 1);
}

/* Writers leave its slot alone and find another; what it copies is whole. */
TEST(a_lapped_reader_keeps_its_slot_and_its_record) {
    struct fixture f;
    fixture_setup(&f, 4);
    push_words(&f, 1, 4);
    assert_int_equal(take(&f), TAKEN);
    push(&f, 5); /* comes round to the slot and takes the next one: 2 is overwritten */
    assert_int_equal(copy_word(&f), 1);
    give_back(&f);
    EXPECT_READ(&f, 3, 4, 5);
    expect_accounts(&f, 5, 4, 1);
    push_words(&f, 6, 9);
    EXPECT_READ(&f, 6, 7, 8, 9);
    expect_accounts(&f, 9, 8, 1);
}

TEST(a_reader_revoked_twice_keeps_its_record) {
    struct fixture f;
    fixture_setup(&f, 2);
    push_words(&f, 1, 2);
    assert_int_equal(take(&f), TAKEN);
    push_words(&f, 3, 4);
    assert_int_equal(f.producer.abandoned, 2);
    assert_int_equal(copy_word(&f), 1);
    give_back(&f);
    EXPECT_READ(&f, 4);
    expect_accounts(&f, 4, 2, 2);
    push_words(&f, 5, 6);
    EXPECT_READ(&f, 5, 6);
    expect_accounts(&f, 6, 4, 2);
}

/* The reader gets to an index whose own writer has not claimed it and whose slot the writer of the
 * lap before is still in. */
TEST(the_reader_gives_up_a_slot_of_the_lap_before) {
    struct fixture f;
    fixture_setup(&f, 2);
    struct writer slow = reserve_and_claim(&f, 1);
    push(&f, 2);
    struct writer late = reserve(&f, 3);
    EXPECT_READ(&f, 2);
    EXPECT_NOTHING(&f);
    expect_busy_and_push_again(&f, &late);
    write_and_commit(&f, &slow);
    EXPECT_READ(&f, 3);
    expect_accounts(&f, 3, 2, 1);
}

TEST(the_reader_gives_up_an_index_over_an_older_record) {
    struct fixture f;
    fixture_setup(&f, 2);
    push_words(&f, 1, 2);
    struct writer late = reserve(&f, 3);
    EXPECT_READ(&f, 2);
    EXPECT_NOTHING(&f);
    expect_busy_and_push_again(&f, &late);
    EXPECT_READ(&f, 3);
    expect_accounts(&f, 3, 2, 1);
}

TEST(a_push_ends_when_writer_and_reader_hold_every_slot) {
    struct fixture f;
    fixture_setup(&f, 2);
    push(&f, 1);
    EXPECT_READ(&f, 1);
    push(&f, 2);
    assert_int_equal(take(&f), TAKEN);
    struct writer slow = reserve_and_claim(&f, 3);
    push(&f, 4);
    assert_true(commit(&f, &slow));
    assert_int_equal(copy_word(&f), 2);
    give_back(&f);
    EXPECT_NOTHING(&f);
    expect_accounts(&f, 4, 2, 2);
}

/* One of several that are in mid-push at the same time. */
struct actor {
    enum { IDLE, RESERVED, HOLDING, WRITTEN } at;
    struct writer writer;
};

static void actor_step(struct fixture *f, struct actor *actor, uint64_t *pushed) {
    struct writer *w = &actor->writer;
    switch (actor->at) {
    case IDLE:
        *w = reserve(f, ++*pushed);
        actor->at = RESERVED;
        break;
    case RESERVED: {
        enum claim result = claim(f, w);
        actor->at = result == CLAIMED ? HOLDING : IDLE;
        if (result == BUSY)
            push_again(f, w);
        break;
    }
    case HOLDING:
        write_word(f, w);
        actor->at = WRITTEN;
        break;
    case WRITTEN:
        assert_int_equal(slot_at(&f->ring, w->index)[1], w->word);
        actor->at = IDLE;
        if (!commit(f, w))
            push_again(f, w);
        break;
    }
}

#define RECORDS_MAX 20000

struct reader {
    bool inside;
    uint64_t word; /* as copied when it was taken */
    uint64_t consumed;
    bool seen[RECORDS_MAX];
};

static void reader_saw(struct reader *reader, uint64_t word, uint64_t pushed) {
    assert_in_range(word, 1, pushed);
    assert_false(reader->seen[word]);
    reader->seen[word] = true;
    reader->consumed++;
}

static void reader_leave(struct fixture *f, struct reader *reader, uint64_t pushed) {
    assert_int_equal(copy_word(f), reader->word);
    give_back(f);
    reader->inside = false;
    reader_saw(reader, reader->word, pushed);
}

static void reader_read(struct fixture *f, struct reader *reader, size_t max, uint64_t pushed) {
    uint64_t out[STEPS_CAPACITY_MAX];
    size_t count = spex_ring_read(&f->ring, out, max);
    for (size_t i = 0; i < count; i++)
        reader_saw(reader, out[i], pushed);
}

static void reader_step(struct fixture *f, struct reader *reader, uint64_t *seed, uint64_t pushed) {
    if (reader->inside) {
        reader_leave(f, reader, pushed);
    } else if (random_below(seed, 4) == 0) {
        reader_read(f, reader, random_below(seed, f->ring.mask + 2), pushed);
    } else if (f->consumer.passed < f->producer.reserve && take(f) == TAKEN) {
        reader->inside = true;
        reader->word = copy_word(f);
    }
}

/* Whoever is in a slot has it alone, no record comes twice, and the accounts come out. */
static void steps_in_any_order(size_t capacity, uint64_t seed) {
    static struct reader reader;
    struct actor actors[3] = {0};
    struct fixture f;
    uint64_t pushed = 0;
    fixture_setup(&f, capacity);
    reader = (struct reader){0};
    for (int step = 0; step < 20000; step++) {
        uint64_t who = random_below(&seed, COUNT_OF(actors) + 1);
        if (who < COUNT_OF(actors))
            actor_step(&f, &actors[who], &pushed);
        else if (random_below(&seed, 3) == 0)
            reader_step(&f, &reader, &seed, pushed);
    }
    for (size_t a = 0; a < COUNT_OF(actors); a++)
        while (actors[a].at != IDLE)
            actor_step(&f, &actors[a], &pushed);
    if (reader.inside)
        reader_leave(&f, &reader, pushed);
    while (!spex_ring_drained(&f.ring))
        reader_read(&f, &reader, capacity, pushed);
    assert_true(f.producer.abandoned > 0);
    expect_accounts(&f, pushed, reader.consumed, pushed - reader.consumed);
    for (size_t i = 0; i < capacity; i++)
        push(&f, ++pushed);
    uint64_t before = reader.consumed;
    reader_read(&f, &reader, capacity, pushed);
    assert_int_equal(reader.consumed - before, capacity);
}

TEST(writers_and_the_reader_stop_anywhere) {
    for (uint64_t seed = 0; seed < 20; seed++)
        for (size_t capacity = 2; capacity <= STEPS_CAPACITY_MAX; capacity *= 2)
            steps_in_any_order(capacity, seed);
}
