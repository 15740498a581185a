/* SPDX-License-Identifier: MIT */
#include "budget_workload.h"

#include <string.h>

const struct budget_workload *const budget_workloads[] = {
    &budget_sqlite,  &budget_hash,    &budget_json, &budget_bursts, &budget_sites, &budget_misses,
    &budget_threads, &budget_crowded, NULL};

const struct budget_workload *budget_workload_find(const char *name) {
    for (size_t w = 0; budget_workloads[w]; w++)
        if (strcmp(budget_workloads[w]->name, name) == 0)
            return budget_workloads[w];
    return NULL;
}
