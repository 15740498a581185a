/* SPDX-License-Identifier: MIT */
/* The ring against a model that is too simple to be wrong: a list that drops its oldest record when
 * it is full. Both ways of committing have the same tests. One thread; concurrency is in ring_steps.c
 * and in stress/. */
#include <stdlib.h>

#include "../check.h"
#include "atomic.h"

#define CAPACITY_MAX 256

struct way {
    const char *name;
    enum spex_commit commit;
    bool (*push)(const struct spex_ring *ring, const uint64_t *words);
};

static const struct way ways[] = {
    {"atomic", SPEX_COMMIT_ATOMIC, spex_atomic_push},
};

static const struct way *way; /* the one that is being tested */

struct model {
    uint64_t records[CAPACITY_MAX]; /* numbers of the records, oldest first */
    size_t capacity;
    size_t size;
    uint64_t produced, consumed, lost;
};

struct pair {
    struct spex_ring ring;
    struct spex_ring_producer producer;
    struct spex_ring_consumer consumer;
    struct model model;
};

static void pair_setup(struct pair *pair, size_t capacity, uint32_t record_words) {
    *pair = (struct pair){.model = {.capacity = capacity}};
    pair->ring = (struct spex_ring){
        .producer = &pair->producer,
        .consumer = &pair->consumer,
        .slots = calloc(1, spex_ring_bytes(way->commit, record_words, capacity)),
        .mask = capacity - 1,
        .record_words = record_words,
        .commit = way->commit,
    };
    assert_non_null(pair->ring.slots);
}

static void pair_teardown(struct pair *pair) {
    free(pair->ring.slots);
}

static void model_drop(struct model *model, size_t count) {
    model->size -= count;
    for (size_t i = 0; i < model->size; i++)
        model->records[i] = model->records[i + count];
}

static uint64_t word_of(uint64_t record, uint32_t word) {
    return mix(record * SPEX_RECORD_WORDS_MAX + word + 1);
}

static void both_push(struct pair *pair) {
    struct model *model = &pair->model;
    uint64_t words[SPEX_RECORD_WORDS_MAX];
    uint64_t record = model->produced++;
    for (uint32_t w = 0; w < pair->ring.record_words; w++)
        words[w] = word_of(record, w);
    if (model->size == model->capacity) {
        model_drop(model, 1);
        model->lost++;
    }
    model->records[model->size++] = record;
    way->push(&pair->ring, words);
}

static void both_read(struct pair *pair, size_t max) {
    static uint64_t out[(CAPACITY_MAX + 1) * SPEX_RECORD_WORDS_MAX];
    struct model *model = &pair->model;
    uint32_t record_words = pair->ring.record_words;
    size_t expected = max < model->size ? max : model->size;
    size_t end = expected * record_words;
    out[end] = 0x5eed;
    assert_int_equal(spex_ring_read(&pair->ring, out, max), expected);
    assert_int_equal(out[end], 0x5eed);
    for (size_t i = 0; i < expected; i++)
        for (uint32_t w = 0; w < record_words; w++)
            assert_int_equal(out[i * record_words + w], word_of(model->records[i], w));
    model_drop(model, expected);
    model->consumed += expected;
}

static void check_accounts(const struct pair *pair) {
    const struct model *model = &pair->model;
    struct spex_ring_counts counts = spex_ring_count(&pair->ring);
    assert_int_equal(counts.produced, model->produced);
    assert_int_equal(counts.consumed, model->consumed);
    assert_int_equal(counts.lost, model->lost);
    assert_int_equal(counts.pending, model->size);
    assert_int_equal(counts.produced, counts.consumed + counts.lost + counts.pending);
    assert_int_equal(spex_ring_drained(&pair->ring), model->size == 0);
    assert_true(spex_ring_fill(&pair->ring) == (double)model->size / (double)model->capacity);
}

static void compare(size_t capacity, uint32_t record_words, uint64_t seed) {
    struct pair pair;
    pair_setup(&pair, capacity, record_words);
    check_accounts(&pair);
    for (int step = 0; step < 1000; step++) {
        /* Now a trickle, now more than a lap. */
        uint64_t pushes = random_below(&seed, random_below(&seed, 4) ? 4 : 2 * capacity + 2);
        while (pushes-- > 0) {
            both_push(&pair);
            check_accounts(&pair);
        }
        both_read(&pair, random_below(&seed, capacity + 2));
        check_accounts(&pair);
    }
    assert_true(pair.model.lost > 0);
    assert_true(pair.model.consumed > 0);
    pair_teardown(&pair);
}

static void behaves_like_the_model(void **state) {
    static const size_t capacities[] = {2, 4, 8, 64, CAPACITY_MAX};
    (void)state;
    for (size_t c = 0; c < COUNT_OF(capacities); c++)
        for (uint32_t record_words = 1; record_words <= SPEX_RECORD_WORDS_MAX; record_words++)
            compare(capacities[c], record_words, capacities[c] * 100 + record_words);
}

/* However the ring is read meanwhile, every quarter of its capacity raises the alarm once. */
static void alarms_every_quarter(void **state) {
    static const size_t capacities[] = {2, 4, 8, 64, CAPACITY_MAX};
    (void)state;
    for (size_t c = 0; c < COUNT_OF(capacities); c++) {
        size_t quarter = capacities[c] < 4 ? 1 : capacities[c] / 4;
        struct pair pair;
        pair_setup(&pair, capacities[c], 1);
        for (int lap = 0; lap < 20; lap++) {
            size_t alarms = 0;
            uint64_t word = 1, out[2];
            for (size_t i = 0; i < quarter; i++)
                alarms += way->push(&pair.ring, &word);
            assert_int_equal(alarms, 1);
            spex_ring_read(&pair.ring, out, (size_t)lap % 3);
        }
        pair_teardown(&pair);
    }
}

static void a_fresh_ring_is_empty(void **state) {
    struct pair pair;
    uint64_t out[4] = {7, 7, 7, 7};
    (void)state;
    pair_setup(&pair, 4, 1);
    assert_true(spex_ring_drained(&pair.ring));
    assert_int_equal(spex_ring_read(&pair.ring, out, 4), 0);
    assert_int_equal(out[0], 7);
    check_accounts(&pair);
    pair_teardown(&pair);
}

static void reading_nothing_changes_nothing(void **state) {
    struct pair pair;
    (void)state;
    pair_setup(&pair, 4, 3);
    for (int i = 0; i < 6; i++)
        both_push(&pair);
    both_read(&pair, 0);
    check_accounts(&pair);
    both_read(&pair, 4);
    check_accounts(&pair);
    pair_teardown(&pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_ring_is_empty),
        cmocka_unit_test(behaves_like_the_model),
        cmocka_unit_test(alarms_every_quarter),
        cmocka_unit_test(reading_nothing_changes_nothing),
    };
    int failed = 0;
    for (size_t w = 0; w < COUNT_OF(ways); w++) {
        way = &ways[w];
        failed += cmocka_run_group_tests_name(way->name, tests, NULL, NULL);
    }
    return failed;
}
