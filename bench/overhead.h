/* SPDX-License-Identifier: MIT */
/* The cases of bench/overhead: loops that differ in what stands in them. */
#ifndef SPEX_BENCH_OVERHEAD_H
#define SPEX_BENCH_OVERHEAD_H

#include <stddef.h>

/* Processes the cases run in, since a process has one way of committing and one size of rings, and a control
 * socket that is open, though nobody calls, or none at all (CLOSED). */
enum bench_setting { BEST, ATOMIC, LARGE, CLOSED, SETTINGS };

struct bench_case {
    const char *type;   /* probe type, or what else stands in the loop */
    const char *state;  /* off, skipped, probed, on or scoped; NULL where no probe stands */
    const char *probes; /* selection while it runs; NULL: every probe off */
    void (*run)(size_t repetitions);
    size_t repetitions;
    unsigned threads;  /* 0: one, timed by the clock; else so many, by their CPU time */
    unsigned settings; /* mask of 1 << enum bench_setting */
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
    LAT_EIGHT_THREADS,
    FIRST_PROBE
};

extern const struct bench_case bench_cases[];
extern const size_t bench_case_count;

/* Memory and rings of the cases themselves. */
void bench_cases_setup(void);

/* The counter, in the process that reads it. */
void bench_counter_setup(void);

/* The case's index; bench_case_count when there is none such. */
size_t bench_case_find(const char *type, const char *state);

/* Ticks for one repetition of each case of a setting, of all its threads together; 0 for the others. */
void bench_round(enum bench_setting setting, double ticks[]);

#endif
