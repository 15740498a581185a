/* SPDX-License-Identifier: MIT */
#include "probe/executions.h"

#include <spex/atomic.h>

#include "probe/sampler.h"
#include "probe/threads.h"

/* How often a reader tries again when it meets a change. */
enum { READS_MAX = 8 };

/* Reads gap, total and word as a sequence lock does, with the gap as the sequence number: if it is
 * the same before and after, the other two belong together. The same gap may come again after a
 * change in between, so executions can be missed or be counted twice, as the header says. A word of
 * a longer gap than that has counted less than nothing: then it is read again. */
uint64_t spex_sampler_executions(const struct spex_thread *thread, uint32_t site) {
    const struct spex_countdown *countdown = &thread->countdowns[site];
    uint64_t total = 0;
    for (int read = 0; read < READS_MAX; read++) {
        uint32_t gap = spex_load_acquire(&countdown->gap);          /* D1 (D2 in sampler.c) */
        total = spex_load_acquire(&countdown->total);               /* D3 (D4 in sampler.c) */
        uint32_t word = spex_load_acquire(&thread->executed[site]); /* D5 (D6 in sampler.c) */
        uint32_t executions = spex_word_executions(word, gap);
        if (gap != SPEX_GAP_CHANGING && executions <= SPEX_CONTROL_COUNTDOWN &&
            gap == spex_load_relaxed(&countdown->gap))
            return total + executions;
    }
    return total;
}

uint64_t spex_threads_executions(uint32_t site) {
    uint64_t sum = 0;
    for (uint32_t t = 0; t < spex_threads_used(); t++)
        sum += spex_sampler_executions(spex_threads_state(t), site);
    return sum;
}

/* The outer loop is over threads, because each thread's words lie together in memory. A word of 0
 * was never used; most are, because most threads execute few of the sites. */
void spex_threads_add_executions(uint64_t *sums, uint32_t sites) {
    for (uint32_t t = 0; t < spex_threads_used(); t++) {
        const struct spex_thread *thread = spex_threads_state(t);
        for (uint32_t site = 0; site < sites; site++)
            if (spex_load_relaxed(&thread->executed[site]))
                sums[site] += spex_sampler_executions(thread, site);
    }
}
