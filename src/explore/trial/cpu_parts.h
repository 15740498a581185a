/* SPDX-License-Identifier: MIT */
/* Divides the CPUs that the process may use into parts for trials at the same time. CPUs of one
 * core, which share its execution units, are in the same part. */
#ifndef SPEX_EXPLORE_TRIAL_CPU_PARTS_H
#define SPEX_EXPLORE_TRIAL_CPU_PARTS_H

#include <sched.h>
#include <stddef.h>

#include "text/error.h"

#define SPEX_CPU_PARTS_MAX 64

struct spex_cpu_parts {
    cpu_set_t *parts; /* NULL: every part has all CPUs */
    size_t count;
    size_t cpus; /* CPUs of the smallest part */
};

/* Makes `count` parts of equally many cores; remaining cores are left idle. 0; -EINVAL when there
 * are fewer cores than parts; -ENOMEM. */
int spex_cpu_parts_make(size_t count, struct spex_cpu_parts *parts, struct spex_error *error);
void spex_cpu_parts_free(struct spex_cpu_parts *parts);

/* Divides CPUs: cores[c] is the core of CPU c. Sets part_of[c], SIZE_MAX for a CPU that is left
 * idle, and the CPUs of the smallest part. 0; -EINVAL; -ENOMEM. */
int spex_cpu_parts_divide(const size_t *cores, size_t count, size_t parts, size_t *part_of,
                          size_t *cpus);

#endif
