/* SPDX-License-Identifier: MIT */
/* Repetitions in processes of their own, since the layout of memory differs between processes, not
 * within one: the program executes itself, and its children tell what they measured. */
#ifndef SPEX_HARNESS_PROCESSES_H
#define SPEX_HARNESS_PROCESSES_H

#include "harness/registry.h"
#include "harness/settings.h"

/* Executes the program settings->processes times, one after another, and takes over what they
 * measure. 0; or a negative errno value with a line on standard error. */
int spex_bench_processes(struct spex_bench_instances *instances,
                         const struct spex_bench_settings *settings, char **argv);

/* For such a child: writes what it has measured. 0 or a negative errno value. */
int spex_bench_processes_tell(const struct spex_bench_instances *instances, int descriptor);

#endif
