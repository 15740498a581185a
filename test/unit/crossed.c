/* SPDX-License-Identifier: MIT */
/* Executions that begin on one thread and end on another, as in coroutines and fibers: all types of
 * probes, in every state that the other thread may be in, however they are sampled. Each is
 * counted, and its record is there or told as not made. What a thread counts for itself (faults,
 * switches, events) has no value then. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>

#include <spex/kernel.h>
#include <spex/probe.h>
#include <spex/region.h>
#include <spex/spex.h>

#include "../capture.h"
#include "../status.h"
#include "counted.h"
#include "messages.h"

enum { CNT = 1, LAT, TPT, LLC, FLT, CTXSW, PERFCNTR, KERNEL, SPAN, TYPES = SPAN };
enum { SNAPSHOT = TYPES + 1, IN_REGION, WARMS, ROUNDS = 16, STACK_BYTES = 256 << 10 };

#if defined(__SANITIZE_THREAD__)
enum { STACKS_CAN_MOVE = 0 };
#else
enum { STACKS_CAN_MOVE = 1 };
#endif

/* The fiber, and who has resumed it. */
static ucontext_t fiber, *resumed_by;
static char stack[STACK_BYTES] __attribute__((aligned(64)));
static unsigned fibers_ended;

static void fiber_leave(void) {
    swapcontext(&fiber, resumed_by);
}

__attribute__((noinline)) static void fiber_resume(void) {
    ucontext_t home;
    resumed_by = &home;
    swapcontext(&home, &fiber);
}

COMPILED_ONCE static void span_end(uint64_t key) {
    SPAN_PROBE_END(SPAN, key);
}

/* Another thread ends what was begun before fiber_leave(). */
COMPILED_ONCE static void execution(void) {
    CNT_PROBE_BEGIN(CNT, 1);
    LAT_PROBE_BEGIN(LAT, 1);
    TPT_PROBE_BEGIN(TPT, 1);
    LLC_PROBE_BEGIN(LLC, 1);
    FLT_PROBE_BEGIN(FLT, 1);
    CTXSW_PROBE_BEGIN(CTXSW, 1);
    PERFCNTR_PROBE_BEGIN(PERFCNTR, 1, 0);
    KERNEL_PROBE_BEGIN(KERNEL, 1, 1);
    SPAN_PROBE_BEGIN(SPAN, 1, 7);
    fiber_leave();
    SNAPSHOT_PROBE(SNAPSHOT, 1, 1);
    span_end(7);
    KERNEL_PROBE_END(KERNEL);
    PERFCNTR_PROBE_END(PERFCNTR);
    CTXSW_PROBE_END(CTXSW);
    FLT_PROBE_END(FLT);
    LLC_PROBE_END(LLC);
    TPT_PROBE_END(TPT);
    LAT_PROBE_END(LAT);
    CNT_PROBE_END(CNT);
}

COMPILED_ONCE static void region(void) {
    SPEX_REGION(1, 2, {
        CNT_PROBE_BEGIN(IN_REGION, 1);
        fiber_leave();
        CNT_PROBE_END(IN_REGION);
    })
}

static void fiber_run(void) {
    for (;;) {
        execution();
        region();
        fibers_ended++;
        fiber_leave();
    }
}

static void fiber_make(void) {
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack;
    fiber.uc_stack.ss_size = sizeof(stack);
    makecontext(&fiber, fiber_run, 0);
}

/* Gives the thread a state and open counters. */
COMPILED_ONCE static void warm(void) {
    SPEX_FLT_SCOPE(WARMS, 1);
    SPEX_CTXSW_SCOPE(WARMS, 1);
    SPEX_LLC_SCOPE(WARMS, 1);
    SPEX_PERFCNTR_SCOPE(WARMS, 1, 0);
    SPEX_LAT_SCOPE(WARMS, 1);
}

/* In whose destructor the thread goes on: spex's come before, in each round. */
static pthread_key_t last_words;
static __thread unsigned words_left;

static void last_words_say(void *value) {
    if (!--words_left) {
        fiber_resume();
        return;
    }
    warm();
    pthread_setspecific(last_words, value);
}

static void words_in_round(unsigned round) {
    words_left = round;
    pthread_setspecific(last_words, &last_words);
}

/* What a thread is that goes on with the fiber. */
static void *as_new(void *arg) {
    fiber_resume();
    return arg;
}

static void *as_warm(void *arg) {
    warm();
    fiber_resume();
    return arg;
}

static void *as_ending(void *arg) {
    warm();
    words_in_round(1);
    return arg;
}

static void *as_refused(void *arg) {
    warm();
    words_in_round(2);
    return arg;
}

static void *(*const others[])(void *) = {as_new, as_warm, as_ending, as_refused};

static void run_beside(void *(*run)(void *)) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
    pthread_join(thread, NULL);
}

/* A thread that lives on while others come and go, and goes on with the fiber when it is asked. */
static struct {
    pthread_t thread;
    pthread_barrier_t go, gone;
    bool ends;
} steady;

static void *steady_run(void *arg) {
    warm();
    for (;;) {
        pthread_barrier_wait(&steady.go);
        if (steady.ends)
            return arg;
        fiber_resume();
        pthread_barrier_wait(&steady.gone);
    }
}

static void steady_start(void) {
    steady.ends = false;
    pthread_barrier_init(&steady.go, NULL, 2);
    pthread_barrier_init(&steady.gone, NULL, 2);
    assert_int_equal(pthread_create(&steady.thread, NULL, steady_run, NULL), 0);
}

static void steady_goes_on(void) {
    pthread_barrier_wait(&steady.go);
    pthread_barrier_wait(&steady.gone);
}

static void steady_stop(void) {
    steady.ends = true;
    pthread_barrier_wait(&steady.go);
    pthread_join(steady.thread, NULL);
}

/* Goes on in a child, where nothing is recorded, and then in the parent. */
static void in_child_and_parent(void) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        fiber_resume();
        _exit(0);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    steady_goes_on();
}

enum { BY_STEADY = COUNT_OF(others), BY_CHILD, WAYS };

static void go_on(unsigned way) {
    if (way == BY_STEADY)
        steady_goes_on();
    else if (way == BY_CHILD)
        in_child_and_parent();
    else
        run_beside(others[way]);
}

/* The records that have come out, by id, and what is wrong with them. */
static struct { uint64_t weight[WARMS], records[WARMS], with_values, too_great; } seen;

static bool is_of_a_thread(uint32_t id) {
    return id == LLC || id == FLT || id == CTXSW || id == PERFCNTR;
}

static void see(const struct spex_record *record, void *context) {
    uint64_t most = UINT64_C(1) << 62;
    (void)context;
    if (record->probe_id >= WARMS)
        return;
    seen.records[record->probe_id]++;
    seen.weight[record->probe_id] += record->weight;
    seen.with_values +=
        is_of_a_thread(record->probe_id) && !(record->marks & SPEX_MARK_UNAVAILABLE);
    for (unsigned f = 0; f < record->field_count; f++)
        seen.too_great += record->fields[f] > most;
}

static void start(const char *selection, const char *thread_budget) {
    const struct spex_options options = {.size = sizeof(options),
                                         .probes = selection,
                                         .out = "/dev/null",
                                         .thread_budget = thread_budget,
                                         .no_calibration = !thread_budget};
    memset(&seen, 0, sizeof(seen));
    capture_start(see, NULL);
    messages_begin(); /* counters that are not available here say so */
    if (!last_words)
        assert_int_equal(pthread_key_create(&last_words, last_words_say), 0);
    (void)SPEX_SET_PERFCNTR_NAME(0, "perf::TASK-CLOCK"); /* it may not be available here */
    int err = spex_start(&options);
    const char *messages = messages_end();
    if (err)
        fail_msg("%s", messages);
}

/* Executions begin on this thread, or on one that has ended since, with which another one has its
 * state. The pass through the region begins and ends on threads of the same kind. */
static uint64_t rounds_run(void) {
    uint64_t executions = 0;
    fiber_make();
    steady_start();
    for (unsigned way = 0; way < WAYS; way++)
        for (unsigned round = 0; round < ROUNDS; round++, executions++) {
            if (round % 2)
                run_beside(as_new);
            else
                fiber_resume();
            go_on(way);
            go_on(way);
        }
    steady_stop();
    return executions;
}

static void all_are_counted(uint64_t executions) {
    for (uint16_t id = CNT; id < IN_REGION; id++)
        if (counted(id) != (double)executions)
            fail_msg("id %u: %g of %llu are counted", id, counted(id),
                     (unsigned long long)executions);
}

/* Where each execution makes a record, it is there or told as not made. */
static void all_are_told(uint64_t executions) {
    uint64_t records = 0;
    for (uint16_t id = CNT; id <= IN_REGION; id++) {
        assert_in_range(seen.records[id], 1, executions);
        assert_int_equal(seen.weight[id], seen.records[id]);
        records += seen.records[id];
    }
    assert_int_equal(records + status_now().unrecorded, executions * IN_REGION);
}

static void cross(const char *selection, const char *thread_budget, bool each) {
    if (!STACKS_CAN_MOVE) {
        print_message("SKIP: ThreadSanitizer does not know stacks that go to another thread\n");
        skip();
    }
    start(selection, thread_budget);
    uint64_t executions = rounds_run();
    assert_int_equal(status_now().lost, 0);
    all_are_counted(executions);
    spex_stop();
    assert_int_equal(fibers_ended, executions);
    fibers_ended = 0;
    if (each)
        all_are_told(executions);
    assert_int_equal(seen.with_values, 0);
    assert_int_equal(seen.too_great, 0);
}

TEST(each_execution) {
    cross("*", NULL, true);
}

TEST(one_in_seven) {
    cross("*@7", NULL, false);
}

TEST(at_random) {
    cross("*@~7", NULL, false);
}

TEST(in_bursts) {
    cross("*@7x4", NULL, false);
}

TEST(within_a_budget_of_threads) {
    cross("*", "1%", false);
}
