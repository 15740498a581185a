/* SPDX-License-Identifier: MIT */
/* How often threads have executed sites, by their words and totals (sampler.h). `site` is an index.
 * Any thread may call these functions. */
#ifndef SPEX_PROBE_EXECUTIONS_H
#define SPEX_PROBE_EXECUTIONS_H

#include <stdint.h>

#include <spex/site.h>

struct spex_thread;

/* Value of a countdown's `gap` while `gap`, `total` and the word are being changed. */
#define SPEX_GAP_CHANGING UINT32_MAX

/* Returns the executions that the word has counted since the last record. */
static inline uint32_t spex_word_executions(uint32_t word, uint32_t gap) {
    uint32_t low = word & SPEX_CONTROL_PERIOD_MASK;
    return gap ? low - (SPEX_CONTROL_COUNTDOWN - gap) : low;
}

/* Returns the executions of the site by the thread since the process began. While the thread is
 * executing the site, the last few executions may be missing or be counted twice. */
uint64_t spex_sampler_executions(const struct spex_thread *thread, uint32_t site);

/* Returns the executions by all threads together, those that have ended included. */
uint64_t spex_threads_executions(uint32_t site);

/* Adds the executions by all threads to sums[site], for each site below `sites`. */
void spex_threads_add_executions(uint64_t *sums, uint32_t sites);

#endif
