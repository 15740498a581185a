/* SPDX-License-Identifier: MIT */
/* Countdowns to a thread's next record of a site, where probe.h does not keep them itself.
 *
 * The thread's word in `executed` then counts up to SPEX_CONTROL_COUNTDOWN, from so far below it as
 * the gap is long. Each thread draws its own gaps, so that threads and sites are sampled
 * independently of each other. */
#ifndef SPEX_PROBE_SAMPLER_H
#define SPEX_PROBE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/atomic.h>
#include <spex/site.h>

struct spex_thread;

/* What a thread keeps of a site beside its word. Written by the thread and its signal handlers
 * alone. */
struct spex_countdown {
    /* Executions up to the last record. */
    uint64_t total;
    /* The gap that is counted down; 0: the word counts up from 0. */
    uint32_t gap;
    /* The weight of the record at the gap's end. */
    uint32_t weight;
    /* Records of the burst behind the next record. */
    uint32_t left;
    /* Coarse ticks when the burst was drawn. */
    uint32_t since;
    /* The frame that executes the site; 0: none. */
    uint32_t active;
    /* The weight of the records that the thread was not allowed since the last record. */
    uint32_t denied;
};

/* Marks of the record of an execution that a countdown's end has chosen: what the choice was. */
uint32_t spex_sampler_marks(const struct spex_countdown *countdown, uint32_t site,
                            uint32_t sampled);

/* A pass through a region (spex/region.h) takes the countdown of the region's site for its own: so
 * many executions are left to the next record, itself included. 0: an outer one has it, and must
 * keep it, since what is left decides which copy of the code a pass takes: an execution of another
 * that took a part of it would be recorded too often. */
uint32_t spex_sampler_enter(struct spex_thread *thread, uint32_t site, uint32_t generation);

/* The pass that has it makes a record, after `left` executions. As many to the next. */
uint32_t spex_sampler_next(struct spex_thread *thread, uint32_t site, uint32_t generation,
                           uint32_t left);

/* Whether an execution in a pass that has it not makes a record: drawn by itself. One that does
 * gives up the outer one's claim, which that renews, unless it has come to no end (longjmp). */
bool spex_sampler_alone(struct spex_thread *thread, uint32_t site, uint32_t generation);

/* The end of a pass that had it with `left` to go, `sum` executions ago. How many of these should
 * have made a record. */
uint32_t spex_sampler_leave(struct spex_thread *thread, uint32_t site, uint32_t generation,
                            uint32_t left, uint64_t sum);

/* Executions of the site by the thread since the process began. Any thread may ask; of a thread
 * that is executing it the last few may be missing or be there twice. */
uint64_t spex_sampler_executions(const struct spex_thread *thread, uint32_t site);

/* The same of all threads together, also of those that have ended. */
uint64_t spex_threads_executions(uint32_t site);

/* Adds these executions of each site below `sites` to its sum. */
void spex_threads_add_executions(uint64_t *sums, uint32_t sites);

/* Adds to what this thread alone writes, whole with regard to its signal handlers where the
 * processor has an instruction for that. */
static inline void spex_own_add(uint64_t *own, uint64_t value) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__("addq %1, %0" : "+m"(*own) : "er"(value) : "cc");
#else
    spex_store_relaxed(own, spex_load_relaxed(own) + value);
#endif
}

#endif
