/* SPDX-License-Identifier: MIT */
/* State that probes keep per thread: the counts, the counters and the kernel's thread id. Taken
 * from a pool of reserved address space at a thread's first sampled probe, given back when the
 * thread ends. */
#ifndef SPEX_PROBE_THREADS_H
#define SPEX_PROBE_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include <spex/atomic.h>
#include <spex/site.h>
#include <spex/ticks.h>

#include "base/random.h"
#include "counters/counters.h"
#include "probe/kernel_frames.h"
#include "probe/sampler.h"
#include "probe/thread_budget.h"
#include "site/registry.h"

/* Most threads with switched-on probes at one time; fewer where memory is limited. */
#define SPEX_MAX_THREADS 8192

struct spex_thread {
    uint32_t thread_id;
    uint32_t next_free; /* pool index + 1 of the next free state, 0: none */
    uint64_t opened_at; /* ticks after this state, or one of its counters, was last made ready */
    uint32_t openings;  /* how often that was */
    struct spex_thread_counters counters;
    struct spex_random random;
    struct spex_thread_budget allowance;
    uint32_t
        executed[SPEX_MAX_SITES + 1]; /* spex_executed points here; the last is calibration's */
    struct spex_countdown countdowns[SPEX_MAX_SITES + 1];
    struct spex_samples samples; /* of kernels, by their models */
};

/* Reserves the pool; touches none of it. Once a process. 0 or -ENOMEM. */
int spex_threads_init(void);

/* That are reserved. */
size_t spex_threads_bytes(void);

static inline struct spex_thread *spex_thread_of(uint32_t *executed) {
    return (struct spex_thread *)((char *)executed - offsetof(struct spex_thread, executed));
}

/* What spex_executed points to where there is no state: no site that is on has their generation. */
extern uint32_t spex_none_executed[SPEX_MAX_SITES + 1];

/* The calling thread's state, if it has one. */
static inline struct spex_thread *spex_thread_current(void) {
    uint32_t *executed = spex_executed;
    return SPEX_LIKELY(executed != spex_none_executed) ? spex_thread_of(executed) : NULL;
}

/* The same, made where there is none yet; NULL when the pool is empty. Lock-free, safe in signal
 * handlers. */
struct spex_thread *spex_thread_attach(void);

/* Something that takes its time has just been prepared for this thread. */
static inline void spex_thread_opened(struct spex_thread *thread) {
    thread->openings++;
    thread->opened_at = spex_ticks();
}

/* The threads' states, of which the first spex_threads_used have been somebody's. What a free one
 * says of activity is none. */
const struct spex_thread *spex_threads_state(uint32_t index);

/* CPU time of all threads that have a state now, up to this moment. False: there are too many to
 * ask. `*threads` tells one set of threads from another. */
bool spex_threads_cpu_ns(uint64_t *ns, uint64_t *threads);

/* What the threads to come draw their gaps from; for tests that must be the same each time. */
void spex_threads_seed(uint64_t seed);

/* Most threads that had a state at one time. */
uint32_t spex_threads_used(void);

/* Sampled executions that found no state. */
uint64_t spex_threads_unrecorded(void);

/* Sets the function that each thread calls at its end, if it has a state then. Any thread, signal
 * handlers. */
void spex_threads_end_hook(void (*hook)(void));

/* The library's end: no thread's end calls it any more. */
void spex_threads_exit(void);

/* In the child of a fork: every state is free again. */
void spex_threads_fork_child(void);

#endif
