/* SPDX-License-Identifier: MIT */
/* The state of a thread that executes probes: counts of executions, countdowns, counters, and the
 * kernel's thread id. A thread gets a state from a pool at its first sampled execution, and gives
 * it back when it ends; the executions stay in the state, until spex stops. Only the thread and its
 * signal handlers write a state; other threads read it with relaxed loads. */
#ifndef SPEX_PROBE_THREADS_H
#define SPEX_PROBE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/atomic.h>
#include <spex/site.h>
#include <spex/ticks.h>

#include "base/random.h"
#include "counters/counters.h"
#include "probe/kernel_frames.h"
#include "probe/nesting.h"
#include "probe/sampler.h"
#include "probe/thread_budget.h"
#include "site/registry.h"

/* Most threads that can have a state at one time; fewer where memory is limited. */
#define SPEX_MAX_THREADS 8192

struct spex_thread {
    /* The kernel's id of the thread; 0: the state is free. */
    uint32_t thread_id;
    /* By which records name it (ring/rings.h). */
    uint32_t number;
    /* Pool index + 1 of the next free state; 0: none. */
    uint32_t next_free;
    /* Ticks when the state was attached or one of its counters opened last. */
    uint64_t opened_at;
    /* How often that has happened, and the ticks that it took in all. */
    uint32_t openings;
    uint64_t opening_ticks;
    /* Pool index of this state. */
    uint32_t index;
    struct spex_thread_counters counters;
    struct spex_random random;
    struct spex_thread_budget budget;
    /* The sampling of kernels by their models; NULL: the thread has executed no such kernel. Other
     * threads read it with spex_thread_samples. */
    struct spex_samples *samples;
    /* What probes within probes cost; NULL: the thread has not looked yet. Other threads read it
     * with spex_thread_nesting. */
    struct spex_nesting *nesting;
    /* The thread would have looked. */
    bool nesting_wanted;
    /* The thread has begun executions of polled sites. */
    bool polled;
    /* By site, in blocks: a site's is there before the site is on. */
    struct spex_countdown *countdowns[SPEX_SITE_BLOCKS];
    /* By site: generation and count (spex/site.h). spex_executed points here. The last element, and
     * the last countdown, belong to calibration. */
    uint32_t executed[SPEX_MAX_SITES + 1];
};

/* For the thread and its signal handlers, while a site is on, and for others that have seen that
 * the thread has executed the site. */
static inline struct spex_countdown *spex_countdown_of(const struct spex_thread *thread,
                                                       uint32_t site) {
    return &thread->countdowns[site / SPEX_SITE_BLOCK][site % SPEX_SITE_BLOCK];
}

/* The same for any other thread; NULL: the thread cannot have executed the site. */
static inline const struct spex_countdown *spex_countdown_seen(const struct spex_thread *thread,
                                                               uint32_t site) {
    const struct spex_countdown *block = spex_load_acquire(
        &thread->countdowns[site / SPEX_SITE_BLOCK]); /* T15 (T16 in threads.c): zeros or more */
    return block ? &block[site % SPEX_SITE_BLOCK] : NULL;
}

/* Prepares the pool, with states for the threads that there are and for some more. Returns 0 or the
 * error of making the thread-specific key. */
int spex_threads_init(void);

/* Makes memory for threads to come, for sites that have come, and what threads have asked for. To be
 * called before a site goes on. Any thread; not in signal handlers. False: without memory for their
 * sites threads cannot execute any that goes on now. */
bool spex_threads_provide(void);

/* Has the thread's state have a countdown for calibration. False: there is no memory. */
bool spex_thread_calibrates(struct spex_thread *thread);

/* The same where it is needed. To be called now and then while a site is on. */
void spex_threads_provide_more(void);

/* Returns the bytes of address space of the states that threads have had. */
size_t spex_threads_bytes(void);

/* Frees the memory of the states that no thread has now. Their executions are forgotten. To be
 * called with all sites off, while no other thread of the library reads states. */
void spex_threads_give_back(void);

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
 * there are SPEX_MAX_THREADS, or none is ready. Lock-free, safe in signal handlers. */
struct spex_thread *spex_thread_attach(void);

/* Makes memory for the sampling of kernels by all threads. */
void spex_threads_provide_samples(void);

/* Gives the thread its sampling of kernels, and returns it; NULL without memory. For the thread and
 * its signal handlers. */
struct spex_samples *spex_thread_samples_assign(struct spex_thread *thread);

/* Returns the thread's sampling of kernels, or NULL. Any thread. */
static inline struct spex_samples *spex_thread_samples(const struct spex_thread *thread) {
    return spex_load_acquire(&thread->samples); /* T7 (T8 in threads.c): zeros, or what followed */
}

/* Asks for what probes within probes cost; spex_threads_provide makes it. For the thread and its
 * signal handlers. */
void spex_thread_nesting_want(struct spex_thread *thread);

/* Makes it, once; NULL without memory. One thread at a time. */
struct spex_nesting *spex_thread_nesting_make(struct spex_thread *thread);

static inline const struct spex_nesting *spex_thread_nesting(const struct spex_thread *thread) {
    return spex_load_acquire(&thread->nesting); /* T9 (T10 in threads.c): its capacity */
}

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

/* Sets the seed, not 0, for the gaps of threads to come; spex_threads_init and spex_start keep it.
 * For tests that must have the same result each time. */
void spex_threads_seed(uint64_t seed);

/* Returns how many states of the pool have ever been in use. */
uint32_t spex_threads_used(void);

/* Returns the number of records that were not made because there was no state for the thread, or
 * no other room. */
uint64_t spex_threads_unrecorded(void);

/* Adds to them. Any thread, signal handlers. */
void spex_threads_note_unrecorded(uint64_t records);

/* Counts executions of a site, by index, by a thread that has no state and finds no room for one,
 * and notes a record that was not made. Any thread, signal handlers. */
void spex_threads_count_stateless(uint32_t site, uint32_t executions);

/* Returns these executions. */
uint64_t spex_threads_stateless(uint32_t site);

/* Sets the function that each thread calls at its end, if it has a state then. Any thread and
 * signal handler. */
void spex_threads_end_hook(void (*hook)(void));

/* To be called when the library is unloaded or the process ends: threads that end later do not call
 * the library. */
void spex_threads_exit(void);

/* To be called after that: unmaps all states. No thread executes a probe again. */
void spex_threads_unmap(void);

/* To be called in the child of a fork: frees and clears all states. */
void spex_threads_fork_child(void);

#endif
