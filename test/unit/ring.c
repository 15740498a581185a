/* SPDX-License-Identifier: MIT */
/* The ring against a model that is too simple to be wrong: a list that drops its oldest record when
 * it is full. Both ways of committing have the same tests. One thread, but for the accounts taken
 * while another reads; concurrency is in ring_steps.c, rseq_steps.c and in stress/. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "../check.h"
#include "queues/commit_atomic.h"
#include "queues/commit_rseq.h"

#define CAPACITY_MAX    256
#define WATCHED_RECORDS 300000
#define WATCHED_SECONDS 10

struct way {
    const char *name;
    enum spex_commit commit;
    bool (*push)(const struct spex_ring *ring, const uint64_t *words);
    uint32_t record_words_min;
    bool aborts; /* a push may leave its slot reserved */
};

/* This process runs on `cpu` alone, so that a push that is aborted begins again in the same
 * ring. */
static unsigned cpu;

/* The one ring as that of `cpu` in a set. The set begins before the ring's memory, but nobody looks
 * there: no other CPU's ring is ever asked for. */
static struct spex_rseq_set set_around(const struct spex_ring *ring) {
    uint64_t ring_bytes = spex_ring_bytes(ring->commit, ring->record_words, ring->mask + 1);
    uint64_t producers = (uintptr_t)ring->producer - (uint64_t)cpu * SPEX_RSEQ_PRODUCER_BYTES;
    uint64_t slots = (uintptr_t)ring->slots - cpu * ring_bytes;
    return (struct spex_rseq_set){
        .producers = (char *)(uintptr_t)producers,
        .slots = (char *)(uintptr_t)slots,
        .ring_bytes = ring_bytes,
        .mask = ring->mask,
        .slot_bytes = spex_ring_slot_words(ring->commit, ring->record_words) * sizeof(uint64_t),
        .cpus = cpu + 1,
    };
}

static bool push_rseq(const struct spex_ring *ring, const uint64_t *words) {
    struct spex_rseq_set set = set_around(ring);
    uint64_t committed;
    if (ring->record_words == 2)
        committed = spex_rseq_push2(&set, words[0], words[1]);
    else if (ring->record_words == 3)
        committed = spex_rseq_push3(&set, words[0], words[1], words[2]);
    else
        committed = spex_rseq_push_n(&set, words[0], words[1], words + 2, ring->record_words - 2);
    assert_int_equal(committed, ring->producer->commit);
    assert_int_equal(committed, ring->producer->reserve);
    return (committed & ring->mask >> 2) == 0;
}

static const struct way ways[] = {
    {"atomic", SPEX_COMMIT_ATOMIC, spex_atomic_push, 1, false},
    {"rseq", SPEX_COMMIT_RSEQ, push_rseq, 2, true},
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

/* A push whose thread moved to another CPU before its end: the slot's old record is lost, and there
 * is no new one. */
static void both_abort(struct pair *pair) {
    struct model *model = &pair->model;
    struct spex_ring_producer *producer = &pair->producer;
    uint64_t *slot =
        &pair->ring.slots[(producer->commit & pair->ring.mask) * pair->ring.record_words];
    producer->reserve = producer->commit + 1;
    slot[0] = ~slot[0];
    if (model->size == model->capacity) {
        model_drop(model, 1);
        model->lost++;
    }
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
            if (way->aborts && random_below(&seed, 8) == 0) {
                both_abort(&pair);
                check_accounts(&pair);
            }
            both_push(&pair);
            check_accounts(&pair);
        }
        if (way->aborts && random_below(&seed, 8) == 0)
            both_abort(&pair);
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
        for (uint32_t record_words = way->record_words_min; record_words <= SPEX_RECORD_WORDS_MAX;
             record_words++)
            compare(capacities[c], record_words, capacities[c] * 100 + record_words);
}

/* However the ring is read meanwhile, every quarter of its capacity raises the alarm once. */
static void alarms_every_quarter(void **state) {
    static const size_t capacities[] = {2, 4, 8, 64, CAPACITY_MAX};
    (void)state;
    for (size_t c = 0; c < COUNT_OF(capacities); c++) {
        size_t quarter = capacities[c] < 4 ? 1 : capacities[c] / 4;
        struct pair pair;
        pair_setup(&pair, capacities[c], way->record_words_min);
        for (int lap = 0; lap < 20; lap++) {
            size_t alarms = 0;
            uint64_t words[2] = {1, 1}, out[4];
            for (size_t i = 0; i < quarter; i++)
                alarms += way->push(&pair.ring, words);
            assert_int_equal(alarms, 1);
            spex_ring_read(&pair.ring, out, (size_t)lap % 3);
        }
        pair_teardown(&pair);
    }
}

static void a_fresh_ring_is_empty(void **state) {
    struct pair pair;
    uint64_t out[8] = {7};
    (void)state;
    pair_setup(&pair, 4, way->record_words_min);
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

struct watched {
    const struct spex_ring *ring;
    atomic_bool pushing;
    atomic_bool all_pushed;
};

static void *read_all(void *argument) {
    struct watched *watched = argument;
    cpu_set_t all;
    memset(&all, 0xff, sizeof(all));
    sched_setaffinity(0, sizeof(all), &all);
    uint64_t out[8 * 2];
    for (bool last = false; !last;) {
        last = atomic_load(&watched->all_pushed);
        while (spex_ring_read(watched->ring, out, 8) > 0)
            ;
        /* A reader that finds a record unfinished in two reads takes its slot away, and a push that
         * has lost eight slots loses its record. A writer that the scheduler has interrupted in
         * mid-push would lose it so, by design: the reader waits for the push to be over. */
        do
            sched_yield();
        while (atomic_load(&watched->pushing));
    }
    return NULL;
}

/* On a busy machine the two wait for each other's turns: then fewer records have to do. */
static bool watched_enough(uint64_t pushed, time_t begin) {
    return pushed == WATCHED_RECORDS || (pushed % 64 == 0 && time(NULL) > begin + WATCHED_SECONDS);
}

/* A ring that is never lapped has lost nothing, also while its reader is between two stores. */
static void nothing_seems_lost_during_a_read(void **state) {
    struct pair pair;
    struct watched watched = {.ring = &pair.ring};
    struct spex_ring_counts counts;
    pthread_t reader;
    uint64_t seen_lost = 0;
    time_t begin = time(NULL);
    (void)state;
    pair_setup(&pair, 8, 2);
    assert_int_equal(pthread_create(&reader, NULL, read_all, &watched), 0);
    for (uint64_t pushed = 0; !watched_enough(pushed, begin);) {
        uint64_t words[2] = {pushed + 1, pushed + 1};
        atomic_store(&watched.pushing, true);
        way->push(&pair.ring, words);
        atomic_store(&watched.pushing, false);
        pushed++;
        do {
            counts = spex_ring_count(&pair.ring);
            seen_lost += counts.lost;
        } while (counts.consumed + counts.lost + 4 < pushed);
    }
    atomic_store(&watched.all_pushed, true);
    pthread_join(reader, NULL);
    assert_int_equal(seen_lost, 0);
    pair_teardown(&pair);
}

static bool pinned(void) {
    cpu_set_t one;
    int now = sched_getcpu();
    if (now < 0)
        return false;
    cpu = (unsigned)now;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof(one), &one) == 0;
}

/* Why this way cannot be tested here, or NULL. */
static const char *lacking(void) {
    if (way->commit != SPEX_COMMIT_RSEQ)
        return NULL;
    if (!spex_rseq_available())
        return "libc has registered no restartable sequences";
    return pinned() ? NULL : "the affinity of this process cannot be set";
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_ring_is_empty),
        cmocka_unit_test(behaves_like_the_model),
        cmocka_unit_test(alarms_every_quarter),
        cmocka_unit_test(reading_nothing_changes_nothing),
        cmocka_unit_test(nothing_seems_lost_during_a_read),
    };
    int failed = 0;
    for (size_t w = 0; w < COUNT_OF(ways); w++) {
        way = &ways[w];
        if (lacking()) {
            printf("SKIP: ring, %s: %s\n", way->name, lacking());
            continue;
        }
        failed += cmocka_run_group_tests_name(way->name, tests, NULL, NULL);
    }
    return failed;
}
