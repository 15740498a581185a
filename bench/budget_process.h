/* SPDX-License-Identifier: MIT */
/* A process that executes a workload without end, and runs only during slices that its parent
 * grants. */
#ifndef SPEX_BENCH_BUDGET_PROCESS_H
#define SPEX_BENCH_BUDGET_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "budget_workload.h"

/* What the library believes and has done since its start, at the beginning of the present
 * slice. */
struct budget_belief {
    /* The time of which the budget is a share, and what probes have taken, in seconds. */
    double seconds;
    double spent;
    double executions;
    uint64_t records;
    uint64_t lost;
};

/* The memory that the process shares with its parent. */
struct budget_shared {
    /* Written by the parent while the process is stopped. `started`: spex is to be. */
    uint64_t stopped_ns;
    uint64_t slice;
    uint64_t started;
    /* Written by the process. It works. */
    uint64_t begun;
    /* `told` is the slice in which it last set `belief`. */
    uint64_t operations;
    uint64_t told;
    struct budget_belief belief;
};

struct budget_process {
    const char *name;
    pid_t pid;
    bool can_start;
    clockid_t cpu_clock;
    struct budget_shared *shared;
    /* Nanoseconds of CLOCK_MONOTONIC. */
    uint64_t stopped_since;
};

/* `probes`: NULL: spex is never started. `later`: not before budget_process_switch. `threads`: the
 * process has a second thread, which sleeps; in a process with one thread, libc omits the locks of
 * malloc and the atomic instructions of mutexes. `cpu`: the CPU on which it works. `brief`: spex is
 * not started before the process is continued. */
struct budget_setting {
    const char *probes;
    const char *budget;
    bool later;
    bool threads;
    bool brief;
    int cpu;
};

/* The process is stopped when this returns. An error in any of these functions ends the bench. */
void budget_process_start(struct budget_process *process, const struct budget_workload *workload,
                          const struct budget_setting *setting);
void budget_process_end(struct budget_process *process);

/* Has the process start spex, or stop it, when it runs the next time. Nothing happens where it has
 * no `probes`. The process must be stopped. */
void budget_process_switch(struct budget_process *process, bool started);

/* Nanoseconds of CPU time, and operations, so far. The process must be stopped. */
uint64_t budget_process_cpu_ns(const struct budget_process *process);
uint64_t budget_process_operations(const struct budget_process *process);

/* Lets the process run for about `ns`. Its belief is then that of the beginning of the slice.
 * Returns the nanoseconds that it ran. */
uint64_t budget_process_run(struct budget_process *process, uint64_t ns);

/* The same for a process that ends after that; `ns` begin when it has started spex. Its belief is
 * that of the end, or none where it does not get the processor (then false). */
bool budget_process_run_once(struct budget_process *process, uint64_t ns);

#endif
