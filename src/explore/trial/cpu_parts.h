/* SPDX-License-Identifier: MIT */
/* The CPUs that we may use, in parts that disturb each other as little as can be: neighbours in a
 * core are in the same part. */
#ifndef SPEX_EXPLORE_TRIAL_CPU_PARTS_H
#define SPEX_EXPLORE_TRIAL_CPU_PARTS_H

#include <sched.h>
#include <stddef.h>

#include "text/error.h"

#define SPEX_CPU_PARTS_MAX 64

struct spex_cpu_parts {
    cpu_set_t *parts; /* NULL: every part has all CPUs */
    size_t count;
    size_t cpus; /* of each part */
};

/* `count` equal parts; what is over is left idle. 0; -EINVAL when there are not enough cores for
 * parts that have none in common; -ENOMEM. */
int spex_cpu_parts_make(size_t count, struct spex_cpu_parts *parts, struct spex_error *error);
void spex_cpu_parts_free(struct spex_cpu_parts *parts);

/* The same over made-up CPUs: `cores` has a number for each of `count` CPUs, the same for those of
 * one core. Gets the part of each CPU, or SIZE_MAX for one that is left idle. 0 or -EINVAL. */
int spex_cpu_parts_divide(const size_t *cores, size_t count, size_t parts, size_t *part_of,
                          size_t *cpus);

#endif
