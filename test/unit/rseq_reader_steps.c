/* SPDX-License-Identifier: MIT */
/* The reader of a ring of restartable sequences, stopped between two instructions while a writer
 * stores. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>

#include "../check.h"
#include "ring/rings.h"
#include "rseq_tracer.h"

/* The reader. */

/* What the child has read, and then what there is: every record whole and newer than those
 * before. */
static void expect_rest(struct writer *writer) {
    uint64_t read = shared->result, last = 0;
    assert_in_range(read, 0, BATCH);
    while (writer->stores > 0)
        writer_store(writer);
    read += spex_ring_read(&shared->ring, shared->out + read * shared->ring.record_words,
                           2 * BATCH - read);
    for (uint64_t i = 0; i < read; i++) {
        const uint64_t *words = shared->out + i * shared->ring.record_words;
        assert_true(words[0] > last);
        expect_whole(words, words[0]);
        last = words[0];
    }
    assert_int_equal(last, writer->number - 1);
    assert_true(spex_ring_drained(&shared->ring));
    expect_counts(writer->number - 1, read, writer->number - 1 - read);
}

static void read_setup(uint64_t *seed, struct writer *writer) {
    ring_setup(2 + (uint32_t)random_below(seed, SPEX_MAX_FIELDS + 1));
    shared->operation = READ;
    *writer = (struct writer){.number = 1};
    writer_push(writer, 1 + random_below(seed, 2 * CAPACITY));
    for (uint64_t s = random_below(seed, stores_of_a_push()); s > 0; s--)
        writer_store(writer);
}

static pid_t reader_start(uint32_t *steps) {
    uint64_t seed = 1;
    struct writer writer;
    pid_t child = child_start(operate_for_ever);
    assert_int_equal(stop_signal(child), SIGSTOP);
    read_setup(&seed, &writer);
    for (*steps = 0; step(child); ++*steps)
        assert_true(*steps < STEPS_OF_A_READ_MAX);
    return child;
}

/* Stopped once, at every instruction, while the writer does anything up to more than a lap. */
TEST(a_reader_stopped_anywhere_delivers_whole_records) {
    enum { RUNS = 1500, STEPS = 60000 };
    uint32_t steps;
    uint64_t seed = 11;
    need_steps();
    pid_t child = reader_start(&steps);
    uint64_t runs = 2 * STEPS / (steps + 1) < RUNS ? 2 * STEPS / (steps + 1) : RUNS;
    for (uint64_t run = 0; run < runs; run++) {
        struct writer writer;
        read_setup(&seed, &writer);
        bool reading = true;
        for (uint64_t s = run * steps / runs; reading && s > 0; s--)
            reading = step(child);
        for (uint64_t s = random_below(&seed, (CAPACITY + 2) * stores_of_a_push()); s > 0; s--)
            writer_store(&writer);
        if (reading)
            go_on(child, 0);
        expect_rest(&writer);
    }
    child_end(child);
}

/* Stopped after every instruction, the writer doing a store now and then. */
TEST(a_reader_beside_a_writer_delivers_whole_records) {
    enum { RUNS = 500, STEPS = 60000 };
    uint32_t steps;
    uint64_t seed = 12;
    need_steps();
    pid_t child = reader_start(&steps);
    uint64_t runs = STEPS / (steps + 1) < RUNS ? STEPS / (steps + 1) + 1 : RUNS;
    for (uint64_t run = 0; run < runs; run++) {
        struct writer writer;
        read_setup(&seed, &writer);
        uint64_t pace = 1 + steps / 64 + random_below(&seed, 8);
        for (uint32_t s = 0; step(child); s++) {
            assert_true(s < STEPS_OF_A_READ_MAX);
            if (random_below(&seed, pace) == 0)
                writer_store(&writer);
        }
        expect_rest(&writer);
    }
    child_end(child);
}

int main(void) {
    return tests_run(stepping_begin, stepping_end);
}
