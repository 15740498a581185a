/* SPDX-License-Identifier: MIT */
/* Decides which executions make a record, where the inline code of probe.h does not: by countdowns
 * to the next record. The thread's word in `executed` counts up to SPEX_CONTROL_COUNTDOWN, and
 * begins as far below it as the gap is long. Each thread draws its own gaps, so that threads and
 * sites are sampled independently of each other.
 *
 * Functions with a `thread` are for this thread and its signal handlers, unless a comment says
 * otherwise. Nothing here locks, allocates or changes errno. `site` is an index. */
#ifndef SPEX_PROBE_SAMPLER_H
#define SPEX_PROBE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/atomic.h>
#include <spex/site.h>
#include <spex/ticks.h>

#include "probe/executions.h"
#include "ring/probe_type.h"

struct spex_thread;

/* A thread's state of a site beside its word. Only the thread and its signal handlers write it. */
struct spex_countdown {
    /* Executions that the word does not count any more: those up to the last record. Modulo 2^64:
     * at first it is as far below 0 as the word of a fixed period begins above 0. */
    uint64_t total;
    /* The gap that is counted down; 0: the word counts up from 0. */
    uint32_t gap;
    /* The weight of the record at the gap's end. */
    uint32_t weight;
    union {
        struct {
            /* Records of the burst that follow the next record. */
            uint32_t left;
            /* When the burst was drawn, in coarse ticks; 0: not known. */
            uint32_t since;
        };
        /* Regions: an estimate of the passes, times SPEX_PASS_PARTS. */
        uint64_t passes;
        /* A probe's site in a region: the variance of `total`, which is the sum of the weights of
         * those that were chosen. */
        double variance;
    };
    /* Polled sites: the address of the stack frame that executes the site, / 16 and odd; 0:
     * none. */
    uint32_t active;
    union {
        /* The weight of the records that the thread's budget has denied since the last record. */
        uint32_t denied;
        /* Regions: passes that have called the library when they began; wraps round. */
        uint32_t calls;
    };
};

/* Parts of a pass in which estimates of passes are kept. */
#define SPEX_PASS_PARTS 256.0

/* Returns the marks of a record that a countdown has chosen: whether its gap was drawn at random,
 * and whether it belongs to a burst. */
uint32_t spex_sampler_marks(const struct spex_countdown *countdown, uint32_t site,
                            uint32_t sampled);

/* A pass through a region (spex/region.h) takes the countdown of the region's site. `weight`: the
 * executions up to which the pass takes the slow copy. Returns how many executions are left to the
 * next record, the recorded one included; 0: an outer pass has the countdown, and keeps it. The
 * rest of the countdown decides which copy of the code a pass takes, so executions of an inner pass
 * that used it up would be recorded too often. */
uint32_t spex_sampler_enter(struct spex_thread *thread, uint32_t site, uint32_t generation,
                            uint32_t weight);

/* The pass with the countdown makes a record, after `left` executions. Returns how many are left to
 * the next one. */
uint32_t spex_sampler_next(struct spex_thread *thread, uint32_t site, uint32_t generation,
                           uint32_t left);

/* Returns whether an execution in a pass without the countdown makes a record, by a draw of its
 * own. If so, ends the outer pass's hold of the countdown. An outer pass that still runs takes it
 * again; one that was left by a longjmp does not, and would otherwise hold it for ever. */
bool spex_sampler_alone(struct spex_thread *thread, uint32_t site, uint32_t generation);

/* An execution of the site, which stands in a region, was chosen with probability 1 / weight. */
void spex_sampler_chosen(struct spex_thread *thread, uint32_t site, uint32_t weight);

/* Ends a pass that has the countdown. `left` were to go `sum` executions ago. Returns how many of
 * these executions should have made a record. */
uint32_t spex_sampler_leave(struct spex_thread *thread, uint32_t site, uint32_t generation,
                            uint32_t left, uint64_t sum);

/* Called where an execution was chosen for a record, before BEGIN reads the clock: waits until what
 * the choice has read is there, so that its misses are not in the program's time. Without it, times
 * of records that were a millisecond apart were 100 to 500 ns too long. `gap`: executions since the
 * last record; 1, as in a burst: nothing is missed. */
static inline void spex_sampler_settle(const struct spex_site *site, uint32_t gap) {
    if (gap > 1 && spex_probe_type_ticks(spex_site_type_(site)))
        spex_ticks_fence_();
}

/* Adds to a number that only this thread and its signal handlers write. On x86-64 one instruction
 * does it, so a handler cannot come in between; elsewhere the handler's addition may be lost. */
static inline void spex_own_add(uint64_t *own, uint64_t value) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__("addq %1, %0" : "+m"(*own) : "er"(value) : "cc");
#else
    spex_store_relaxed(own, spex_load_relaxed(own) + value);
#endif
}

#endif
