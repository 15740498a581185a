/* SPDX-License-Identifier: MIT */
/* The programs that bench/budget measures. They have probes as a real program of that kind
 * would. */
#ifndef SPEX_BENCH_BUDGET_WORKLOAD_H
#define SPEX_BENCH_BUDGET_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>

struct budget_workload {
    const char *name;
    /* Makes the data, the same in every process. Ends the process when memory is short. */
    void *(*prepare)(void);
    /* Works for some microseconds, with a constant mix of operations in the long run. Returns how
     * many operations there were. */
    unsigned (*work)(void *state);
    /* The whole process stays on the CPU, as by taskset(1), and not only what works. Where threads
     * wait for one CPU and another is idle, each wake-up there, be it of another process, makes the
     * kernel look for threads that could move: 1.4 ms of their time on Linux 6.18. */
    bool bound;
    /* It runs for so many times as long at a time, and so many times less often: many threads find
     * their caches cold each time that they are continued, and those that have probes more. 0: 1. */
    unsigned longer;
};

extern const struct budget_workload budget_hash;
extern const struct budget_workload budget_json;
extern const struct budget_workload budget_sqlite;

/* Those that are hard (budget_hard.c). */
extern const struct budget_workload budget_bursts;
extern const struct budget_workload budget_sites;
extern const struct budget_workload budget_misses;
extern const struct budget_workload budget_threads;
extern const struct budget_workload budget_crowded;

/* What a shared object has for budget_workload_load. */
extern __attribute__((visibility("default"))) const struct budget_workload budget_object;

/* NULL: there is no workload of that name. */
const struct budget_workload *budget_workload_find(const char *name);

/* Adds the workload `budget_object` of a shared object (foreign/build makes some).
 * NULL: it was added. Otherwise what is wrong. */
const char *budget_workload_load(const char *path);

/* Returns the workload with this number, from 0 on; NULL after the last. */
const struct budget_workload *budget_workload_at(size_t number);

#endif
