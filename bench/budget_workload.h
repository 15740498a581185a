/* SPDX-License-Identifier: MIT */
/* The programs that bench/budget measures, as a real program of that kind would have its probes. */
#ifndef SPEX_BENCH_BUDGET_WORKLOAD_H
#define SPEX_BENCH_BUDGET_WORKLOAD_H

#include <stddef.h>

struct budget_workload {
    const char *name;
    /* What it works on, the same in every process. Ends the process when there is no memory for it. */
    void *(*prepare)(void);
    /* Some microseconds of work, always as much of each kind in the long run; how many operations it was. */
    unsigned (*work)(void *state);
};

extern const struct budget_workload budget_hash;
extern const struct budget_workload budget_json;
extern const struct budget_workload budget_sqlite;

/* NULL: there is none of that name. */
const struct budget_workload *budget_workload_find(const char *name);

/* All of them, NULL behind the last. */
extern const struct budget_workload *const budget_workloads[];

#endif
