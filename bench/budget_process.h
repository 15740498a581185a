/* SPDX-License-Identifier: MIT */
/* A process that does a workload without end, and runs only while it is let. */
#ifndef SPEX_BENCH_BUDGET_PROCESS_H
#define SPEX_BENCH_BUDGET_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "budget_workload.h"

/* What the library believes and has done since it was started, as of the begin of the present slice. */
struct budget_belief {
    double seconds; /* of the time that budgets go by */
    double spent;   /* seconds */
    double executions;
    uint64_t records;
    uint64_t lost;
};

/* What the process shares with its parent. */
struct budget_shared {
    uint64_t stopped_ns; /* by the parent, while the process is stopped, as is the next */
    uint64_t slice;
    uint64_t operations; /* by the process */
    uint64_t told;       /* the slice in which it last set belief */
    struct budget_belief belief;
};

struct budget_process {
    const char *name;
    pid_t pid;
    clockid_t cpu_clock;
    struct budget_shared *shared;
    uint64_t stopped_since; /* ns */
};

/* `probes`: NULL: spex is not started. `threads`: it has another, which sleeps; where a process has one alone, libc
 * saves itself the locks of malloc and the atomic instructions of mutexes. `cpu`: that it works on. */
struct budget_setting {
    const char *probes;
    const char *budget;
    bool threads;
    int cpu;
};

/* It is stopped when this returns. What goes wrong in any of these ends the bench. */
void budget_process_start(struct budget_process *process, const struct budget_workload *workload,
                          const struct budget_setting *setting);
void budget_process_end(struct budget_process *process);

/* Nanoseconds of CPU time and operations done, as of now that it is stopped. */
uint64_t budget_process_cpu_ns(const struct budget_process *process);
uint64_t budget_process_operations(const struct budget_process *process);

/* Lets it run for about so long. Its belief is then that of the slice's begin. The nanoseconds that it took. */
uint64_t budget_process_run(struct budget_process *process, uint64_t ns);

#endif
