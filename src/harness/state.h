/* SPDX-License-Identifier: MIT */
/* A batch: one execution of a benchmark's function in one thread. */
#ifndef SPEX_HARNESS_STATE_H
#define SPEX_HARNESS_STATE_H

#include <pthread.h>
#include <stdbool.h>

#include "counters/counters.h"
#include "harness/registry.h"

/* The events that are counted, as the user named them. */
struct spex_bench_event {
    /* For the report: "faults", "llc_misses". */
    char name[64];
    enum spex_counter counter;
    /* Which of the counter's two values it is. */
    unsigned value;
};

struct spex_bench_events {
    struct spex_bench_event items[SPEX_BENCH_EVENTS_MAX];
    size_t count;
};

enum spex_bench_phase {
    /* The loop has not begun, is executed, or is paused. */
    SPEX_BENCH_BEFORE,
    SPEX_BENCH_RUNNING,
    SPEX_BENCH_PAUSED,
    SPEX_BENCH_ENDED
};

/* Times of single iterations instead of the batch's. */
struct spex_bench_singles {
    struct spex_histogram *histogram;
    /* Time of an empty iteration, which is subtracted. */
    uint64_t clock_ticks;
    /* No iteration begins after so many ticks. */
    uint64_t ticks_most;
};

struct spex_bench_switches {
    uint64_t preemptions, waits;
};

struct spex_bench_state {
    const struct spex_bench_instance *instance;
    unsigned thread;
    uint64_t iterations;
    void *fixture;
    const struct spex_bench_events *events;
    /* Holds the threads of a batch until all are at their loops; NULL: there is one. */
    pthread_barrier_t *start;
    /* NULL: the batch is timed as a whole. */
    const struct spex_bench_singles *singles;

    enum spex_bench_phase phase;
    struct spex_bench_time begun;
    /* Before the last pause; of the whole batch when it has ended. */
    struct spex_bench_time spent;
    /* How often the system has given the CPU to another thread, and the thread has waited by
     * itself: before the batch, and within. */
    struct spex_bench_switches switches_before, switches;
    uint64_t single_begun, single_spent, singles_begun;
    uint64_t executed;
    struct spex_thread_counters *counters;
    struct spex_reading readings[SPEX_BENCH_EVENTS_MAX];
    /* Of the whole batch; NAN: not counted. */
    double counted[SPEX_BENCH_EVENTS_MAX];
    double bytes, items;
    struct spex_bench_own own[SPEX_BENCH_COUNTERS_MAX];
    size_t own_count;
    char error[SPEX_BENCH_TEXT_BYTES];
};

/* Executes the function: its time and counts are in the state afterwards, or an error. */
void spex_bench_state_run(struct spex_bench_state *state);

#endif
