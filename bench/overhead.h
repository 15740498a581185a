/* SPDX-License-Identifier: MIT */
/* The cases of bench/overhead: loops with different contents. */
#ifndef SPEX_BENCH_OVERHEAD_H
#define SPEX_BENCH_OVERHEAD_H

#include <stddef.h>

/* The settings, each with a process: a process has one way of committing, one size of rings,
 * and a control socket that is open without clients, or none (CLOSED). */
enum bench_setting { BEST, ATOMIC, LARGE, CLOSED, SETTINGS };

struct bench_case {
    /* The type of the probe, or what else is in the loop. */
    const char *type;
    /* off, skipped, probed, on or scoped; NULL: the loop has no probe. */
    const char *state;
    /* The selection during the loop; NULL: every probe is off. */
    const char *probes;
    void (*run)(size_t repetitions);
    size_t repetitions;
    /* 0: one thread, timed by the clock; else so many, timed by their CPU time. */
    unsigned threads;
    /* A mask of 1 << enum bench_setting. */
    unsigned settings;
};

/* Cases that others are compared with. */
enum {
    EMPTY,
    RDTSC,
    TWO_RDTSC,
    COUNTER_READ,
    CHASE,
    CHASE_OFF,
    CHASE_ON,
    PUSH_RSEQ,
    PUSH_ATOMIC,
    LAT_ONE_THREAD,
    LAT_TWO_THREADS,
    LAT_FOUR_THREADS,
    LAT_EIGHT_THREADS,
    /* Ten types in four numbers of threads. */
    FIRST_PROBE = LAT_ONE_THREAD + 40
};

extern const struct bench_case bench_cases[];
extern const size_t bench_case_count;

/* Makes the memory and rings of the cases. */
void bench_cases_setup(void);

/* Opens the counter; called in the process that reads it. */
void bench_counter_setup(void);

/* The index of the case; bench_case_count when there is none. */
size_t bench_case_find(const char *type, const char *state);

/* What one round tells of a case. */
struct bench_sample {
    /* For one repetition, of all its threads together; 0 for cases that the setting has not. */
    double ticks;
    /* The longer of the references before and after it. */
    double reference;
};

void bench_round(enum bench_setting setting, struct bench_sample samples[]);

#endif
