/* SPDX-License-Identifier: MIT */
/* The state of a thread that executes probes: counts of executions, countdowns, counters, and the
 * kernel's thread id. A thread gets a state from a pool at its first sampled execution, and gives
 * it back when it ends; the executions stay in the state. Only the thread and its signal handlers
 * write a state; other threads read it with relaxed loads. */
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

/* Most threads that can have a state at one time; fewer where address space is limited. */
#define SPEX_MAX_THREADS 8192

struct spex_thread {
    /* The kernel's id of the thread; 0: the state is free. */
    uint32_t thread_id;
    /* Pool index + 1 of the next free state; 0: none. */
    uint32_t next_free;
    /* Ticks when the state was attached or one of its counters opened last. */
    uint64_t opened_at;
    /* How often that has happened, and the ticks that it took in all. */
    uint32_t openings;
    uint64_t opening_ticks;
    struct spex_thread_counters counters;
    struct spex_random random;
    struct spex_thread_budget budget;
    /* By site: generation and count (spex/site.h). spex_executed points here. The last element of
     * this array and the next one belongs to calibration. */
    uint32_t executed[SPEX_MAX_SITES + 1];
    struct spex_countdown countdowns[SPEX_MAX_SITES + 1];
    /* The sampling of kernels by their models. */
    struct spex_samples samples;
};

/* Reserves the address space of the pool, once in a process. Returns 0, -ENOMEM, or the error of
 * making the thread-specific key. */
int spex_threads_init(void);

/* Returns the bytes of address space that are reserved. */
size_t spex_threads_bytes(void);

/* Returns the state that contains this array. */
static inline struct spex_thread *spex_thread_of(uint32_t *executed) {
    return (struct spex_thread *)((char *)executed - offsetof(struct spex_thread, executed));
}

/* spex_executed points here while the thread has no state. All words are 0, a generation that no
 * site has while it is on, so the inline code calls the library. */
extern uint32_t spex_none_executed[SPEX_MAX_SITES + 1];

/* Returns the state of the calling thread, or NULL. */
static inline struct spex_thread *spex_thread_current(void) {
    uint32_t *executed = spex_executed;
    return SPEX_LIKELY(executed != spex_none_executed) ? spex_thread_of(executed) : NULL;
}

/* Returns the state of the calling thread, and takes one from the pool if it has none; NULL when
 * the pool is empty. Lock-free, safe in signal handlers. */
struct spex_thread *spex_thread_attach(void);

/* Notes that the thread has been delayed since `begin` by attaching its state or opening a counter.
 * Records of executions that began before are marked (SPEX_MARK_OPENING). */
static inline void spex_thread_opened(struct spex_thread *thread, uint64_t begin) {
    thread->openings++;
    thread->opened_at = spex_ticks();
    thread->opening_ticks += thread->opened_at - begin;
}

/* Returns the state at an index below spex_threads_used(). It may be free; then nothing is active
 * in it. Any thread. */
const struct spex_thread *spex_threads_state(uint32_t index);

/* Sets *ns to the CPU time of all threads that have a state now, and *threads to a number that
 * identifies this set of threads. Returns false when there are more than 64 threads: each takes a
 * system call. Any thread. */
bool spex_threads_cpu_ns(uint64_t *ns, uint64_t *threads);

/* Sets the seed, not 0, for the gaps of threads to come; spex_threads_init and spex_start keep it.
 * For tests that must have the same result each time. */
void spex_threads_seed(uint64_t seed);

/* Returns how many states of the pool have ever been in use. */
uint32_t spex_threads_used(void);

/* Returns the number of sampled executions without a record because the pool was empty. */
uint64_t spex_threads_unrecorded(void);

/* Sets the function that each thread calls at its end, if it has a state then. Any thread and
 * signal handler. */
void spex_threads_end_hook(void (*hook)(void));

/* To be called when the library is unloaded or the process ends: threads that end later do not call
 * the library. */
void spex_threads_exit(void);

/* To be called in the child of a fork: frees and clears all states. */
void spex_threads_fork_child(void);

#endif
