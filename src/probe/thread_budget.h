/* SPDX-License-Identifier: MIT */
/* The budget of a thread: a bound on the time that one thread spends on its own records, for
 * programs to which the slowest requests matter more than the mean. In any
 * SPEX_THREAD_BUDGET_SECONDS a thread spends at most a given share of them on records, by the
 * measured costs of the types. Executions without a record are not counted.
 *
 * Each thread has a token bucket of ticks. Its capacity is an eighth of what the bound allows in
 * SPEX_THREAD_BUDGET_SECONDS, and it gains six eighths in that time. It is filled only when it has
 * too little left, so two full buckets can be spent in a row; together that is the bound. */
#ifndef SPEX_PROBE_THREAD_BUDGET_H
#define SPEX_PROBE_THREAD_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* The length of the interval for which the bound holds. */
#define SPEX_THREAD_BUDGET_SECONDS 0.01

/* A thread's bucket; all zero at first. Only the thread and its signal handlers use it. */
struct spex_thread_budget {
    /* Ticks that are left. */
    uint64_t left;
    /* When the bucket was filled last, in ticks. */
    uint64_t since;
};

/* Sets the share of its time that each thread may spend on records, 0 to 1; 0: no bound. To be
 * called before any site is on. */
void spex_thread_budget_set(double share, double ticks_per_second);

/* Returns whether there is a bound. */
bool spex_thread_budget_bounded(void);

/* Takes the cost of a record of this type from the thread's bucket. Returns false when too little
 * is left: the thread must not make the record. To be called in that thread or its signal
 * handlers. */
bool spex_thread_budget_take(struct spex_thread_budget *budget, unsigned type_ring);

#endif
