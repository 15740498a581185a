/* SPDX-License-Identifier: MIT */
/* State that probes keep per thread: the countdowns and the kernel's thread id. Taken from a pool
 * of reserved address space at a thread's first sampled probe, given back when the thread ends. */
#ifndef SPEX_THREADS_H
#define SPEX_THREADS_H

#include <stdint.h>

#include "sites.h"

/* Most threads with switched-on probes at one time. */
#define SPEX_MAX_THREADS 8192

struct spex_thread {
    uint32_t thread_id;
    uint32_t next_free;                /* pool index + 1 of the next free state, 0: none */
    uint32_t executed[SPEX_MAX_SITES]; /* per site: executions since its last record, and above
                                          them, as in the control word, the generation counted */
};

/* Reserves the pool; touches none of it. Once a process. 0 or -ENOMEM. */
int spex_threads_init(void);

/* The calling thread's state; NULL when the pool is empty. Lock-free, safe in signal handlers. */
struct spex_thread *spex_thread_current(void);

/* Sampled executions that found no state. */
uint64_t spex_threads_unrecorded(void);

/* The library's end: no thread's end calls it any more. */
void spex_threads_exit(void);

/* In the child of a fork: every state is free again. */
void spex_threads_fork_child(void);

#endif
