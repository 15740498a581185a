/* SPDX-License-Identifier: MIT */
/* A repetition of a benchmark whose executions are counted: batches, iterations, threads, fixtures,
 * and what is told and counted in them. */
#define _GNU_SOURCE
#include <math.h>
#include <stdatomic.h>

#include <spex/bench.h>

#include "../check.h"
#include "harness/events.h"
#include "harness/measure.h"

/* Batches of a repetition in one thread, and in several (src/harness/measure.c). */
enum { BATCHES = 128, BATCHES_OF_THREADS = 16, THREADS_MOST = 8 };

static atomic_uint calls, iterations_executed, calls_of_thread[THREADS_MOST], set_up, torn_down,
    alone;
static bool reason_in_setup, reason_in_thread;
static uint64_t shared;

static void expect_no_batch(struct spex_bench_state *state) {
    assert_int_equal(spex_bench_iterations(state), 0);
    assert_int_equal(spex_bench_thread(state), 0);
    assert_int_equal(spex_bench_arg(state, 0), 11);
    assert_int_equal(spex_bench_arg(state, 1), 12);
}

static void sets_up(struct spex_bench_state *state) {
    set_up++;
    assert_null(spex_bench_fixture(state));
    expect_no_batch(state);
    if (reason_in_setup)
        spex_bench_skip(state, "no file");
    spex_bench_set_fixture(state, &shared);
}

static void tears_down(struct spex_bench_state *state) {
    torn_down++;
    expect_no_batch(state);
    assert_ptr_equal(spex_bench_fixture(state), &shared);
}

static void counted(struct spex_bench_state *state) {
    unsigned thread = spex_bench_thread(state);
    calls++;
    calls_of_thread[thread]++;
    assert_ptr_equal(spex_bench_fixture(state), &shared);
    if (reason_in_thread && thread == spex_bench_threads(state) - 1)
        spex_bench_skip(state, "no reason");
    SPEX_BENCH_LOOP(state) {
        alone += calls != calls_of_thread[thread] * spex_bench_threads(state);
        iterations_executed++;
    }
    spex_bench_bytes(state, 64);
    spex_bench_items(state, 4);
    spex_bench_counter(state, "thread", thread);
    spex_bench_counter(state, "call", 1);
}

static const struct spex_benchmark family = {
    .function = counted, .setup = sets_up, .teardown = tears_down};

/* Of the 7 iterations of a batch, in none of which a thread is before its loop. */
static struct spex_bench_instance measured(unsigned threads,
                                           const struct spex_bench_manner *manner) {
    struct spex_bench_instance instance = {.family = &family, .threads = threads, .args = {11, 12}};
    uint64_t iterations = 7;
    calls = iterations_executed = set_up = torn_down = alone = 0;
    memset(calls_of_thread, 0, sizeof(calls_of_thread));
    assert_int_equal(spex_bench_measure(&instance, manner, &iterations), 0);
    assert_int_equal(iterations, 7);
    assert_int_equal(set_up, 1);
    assert_int_equal(torn_down, 1);
    assert_int_equal(alone, 0);
    return instance;
}

static const struct spex_bench_events none;

TEST(all_threads_execute_all_batches) {
    static const unsigned threads[] = {1, 2, 5};
    const struct spex_bench_manner manner = {.seconds = 1, .events = &none};
    for (size_t n = 0; n < COUNT_OF(threads); n++) {
        unsigned batches = threads[n] > 1 ? BATCHES_OF_THREADS : BATCHES;
        struct spex_bench_instance instance = measured(threads[n], &manner);
        /* One batch before them. */
        assert_int_equal(calls, (batches + 1) * threads[n]);
        assert_int_equal(iterations_executed, 7 * (batches + 1) * threads[n]);
        for (unsigned t = 0; t < THREADS_MOST; t++)
            assert_int_equal(calls_of_thread[t], t < threads[n] ? batches + 1 : 0);
        assert_string_equal(instance.figures.error, "");
        assert_int_equal(instance.figures.count, 1);
        assert_null(instance.figures.singles);
        const struct spex_bench_repetition *repetition = instance.figures.repetitions;
        assert_true(repetition->iterations == 7.0 * batches * threads[n]);
        assert_true(repetition->bytes == 64 && repetition->items == 4);
        assert_int_equal(repetition->own_count, 2);
        assert_string_equal(repetition->own[0].name, "thread");
        assert_true(repetition->own[0].sum == batches * threads[n] * (threads[n] - 1) / 2.0);
        assert_true(repetition->own[0].count == batches * threads[n]);
        assert_string_equal(repetition->own[1].name, "call");
        assert_true(repetition->own[1].sum == batches * threads[n]);
        assert_true(repetition->time.real_ns > 0 && repetition->mean.real_ns > 0);
        assert_true(repetition->time.ticks > 0 && repetition->mean.ticks > 0);
        spex_bench_figures_free(&instance.figures);
    }
}

/* Of each thread up to 4096 in all its iterations. */
TEST(single_iterations_of_all_threads) {
    const struct spex_bench_manner manner = {
        .seconds = 1e9, .singles = true, .ticks_per_second = 1e9, .events = &none};
    struct spex_bench_instance instance = measured(2, &manner);
    assert_int_equal(calls, (BATCHES_OF_THREADS + 2) * 2);
    assert_non_null(instance.figures.singles);
    assert_int_equal(instance.figures.singles->total, 2 * 4096);
    assert_int_equal(iterations_executed, 7 * (BATCHES_OF_THREADS + 1) * 2 + 2 * 4096);
    spex_bench_figures_free(&instance.figures);
}

/* Nothing is measured, and what was set up is torn down. */
TEST(reasons_not_to_measure) {
    const struct spex_bench_manner manner = {
        .seconds = 1, .singles = true, .ticks_per_second = 1e9, .events = &none};
    reason_in_setup = true;
    struct spex_bench_instance instance = measured(2, &manner);
    reason_in_setup = false;
    assert_string_equal(instance.figures.error, "no file");
    assert_int_equal(instance.figures.count, 0);
    assert_int_equal(calls, 0);
    spex_bench_figures_free(&instance.figures);
    for (unsigned threads = 1; threads < 4; threads++) {
        reason_in_thread = true;
        instance = measured(threads, &manner);
        reason_in_thread = false;
        assert_string_equal(instance.figures.error, "no reason");
        assert_int_equal(instance.figures.count, 0);
        assert_int_equal(calls, threads);
        spex_bench_figures_free(&instance.figures);
    }
}

/* Waits by itself twice in each iteration: mostly each is a switch. */
static void waits(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        usleep(1);
        usleep(1);
    }
}

TEST(events_are_those_of_an_iteration) {
    static struct spex_bench_events events;
    static const struct spex_benchmark waiting = {.function = waits};
    struct spex_bench_instance instance = {.family = &waiting, .threads = 1};
    const struct spex_bench_manner manner = {.seconds = 1, .events = &events};
    uint64_t iterations = 2;
    assert_int_equal(spex_bench_events_take(&events, "faults,switches"), 0);
    assert_int_equal(spex_bench_measure(&instance, &manner, &iterations), 0);
    const struct spex_bench_repetition *repetition = instance.figures.repetitions;
    assert_true(repetition->events[0] >= 0 && repetition->events[0] < 2);
    assert_true(repetition->events[1] > 1);
    spex_bench_figures_free(&instance.figures);
}
