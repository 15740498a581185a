/* SPDX-License-Identifier: MIT */
/* What one thread may lose to its own records: a bound for those to whom the slowest requests
 * matter more than the mean. In any SPEX_THREAD_BUDGET_SECONDS at most a share of them, by what a
 * record of each type costs here.
 *
 * A bucket of ticks for each thread that holds an eighth of that and gains six in the same time. It
 * is only looked at when it is empty, so that two eighths can come together, and no more is spent
 * in the time however it is laid. Executions that make no record cost what they cost. */
#ifndef SPEX_PROBE_THREAD_BUDGET_H
#define SPEX_PROBE_THREAD_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define SPEX_THREAD_BUDGET_SECONDS 0.01

struct spex_thread_budget {
    uint64_t left;  /* ticks */
    uint64_t since; /* when that was so */
};

/* From now on; 0: as much as it takes. Before any site is on. */
void spex_thread_budget_set(double share, double ticks_per_second);

/* Whether there is a bound. */
bool spex_thread_budget_bounded(void);

/* Whether the thread may make a record of this type; takes what it costs. In that thread and its
 * signal handlers. */
bool spex_thread_budget_take(struct spex_thread_budget *allowance, unsigned type_ring);

#endif
