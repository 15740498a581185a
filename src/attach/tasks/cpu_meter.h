/* SPDX-License-Identifier: MIT */
/* The CPU time of another process's threads to some microseconds: the kernel tells what a process has used once a tick,
 * but an event of a thread whenever it is read. */
#ifndef SPEX_ATTACH_TASKS_CPU_METER_H
#define SPEX_ATTACH_TASKS_CPU_METER_H

#include <sys/types.h>

/* Of a process with more threads it is not known. */
enum { SPEX_METERED_THREADS_MAX = 16 };

struct spex_cpu_meter {
    int events[SPEX_METERED_THREADS_MAX];
    unsigned count;
};

/* For the threads that there are now. To be closed in any case. */
void spex_cpu_meter_open(struct spex_cpu_meter *meter, pid_t process);
void spex_cpu_meter_close(struct spex_cpu_meter *meter);

/* Seconds since then; negative: it is not known. */
double spex_cpu_meter_read(const struct spex_cpu_meter *meter);

#endif
