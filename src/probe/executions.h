/* SPDX-License-Identifier: MIT */
/* How often threads have executed sites, by their words and totals (sampler.h), and the CPU time
 * that they have used. `site` is an index. Any thread may call these functions. */
#ifndef SPEX_PROBE_EXECUTIONS_H
#define SPEX_PROBE_EXECUTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/site.h>

#include "base/random.h"

struct spex_thread;

/* Value of a countdown's `gap` while `gap`, `total` and the word are being changed. */
#define SPEX_GAP_CHANGING UINT32_MAX

/* Returns the executions that the word has counted since the last record; below 0: the gap is not
 * the word's. A countdown's generation is even, that of a word of 0 too, which has counted
 * nothing. */
static inline int32_t spex_word_executions(uint32_t word, uint32_t gap) {
    uint32_t low = word & SPEX_CONTROL_PERIOD_MASK;
    bool counts_down = word && !(word >> SPEX_CONTROL_GENERATION_SHIFT & 1);
    return (int32_t)(counts_down ? low + gap - SPEX_CONTROL_COUNTDOWN : low);
}

/* Returns the executions of the site by the thread since the process began. While the thread is
 * executing the site, the last few executions may be missing or be counted twice, at most as many
 * as a record stands for. What began here and ended on another thread is in that one's; so this may
 * be below 0, and the sum over threads is what counts. */
int64_t spex_sampler_executions(const struct spex_thread *thread, uint32_t site);

/* Returns the executions by all threads together, those that have ended included. In a region they
 * are estimated (spex_region_executions). */
uint64_t spex_threads_executions(uint32_t site);

/* Adds the executions by all threads to sums[site], for each site below `sites`. */
void spex_threads_add_executions(uint64_t *sums, uint32_t sites);

/* Threads whose clocks are read, each by a system call. */
#define SPEX_THREADS_CHOSEN 64

/* Threads that had a state when they were chosen: `count` of `of` threads. */
struct spex_thread_set {
    uint32_t count, of;
    uint32_t states[SPEX_THREADS_CHOSEN];
    uint32_t ids[SPEX_THREADS_CHOSEN];
};

/* Chooses all threads that have a state now, or `most` of them at random, SPEX_THREADS_CHOSEN or
 * fewer. */
void spex_threads_choose(struct spex_thread_set *set, uint32_t most, struct spex_random *random);

/* Sets *ns to the CPU time of those of the threads that have not ended, and *threads to a number
 * that identifies these. */
void spex_threads_cpu_ns(const struct spex_thread_set *set, uint64_t *ns, uint64_t *threads);

#endif
