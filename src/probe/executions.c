/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "probe/executions.h"

#include <spex/atomic.h>

#include "base/clock.h"
#include "probe/sampler.h"
#include "probe/threads.h"

/* How often a reader tries again when it meets a change. */
enum { READS_MAX = 8 };

/* Reads gap, total and word as a sequence lock does, with the gap as the sequence number: if it is
 * the same before and after, the other two belong together. The same gap may come again after a
 * change in between, so executions can be missed or be counted twice, as the header says. */
int64_t spex_sampler_executions(const struct spex_thread *thread, uint32_t site) {
    const struct spex_countdown *countdown = spex_countdown_seen(thread, site);
    int64_t total = 0;
    for (int read = 0; countdown && read < READS_MAX; read++) {
        uint32_t gap = spex_load_acquire(&countdown->gap);          /* D1 (D2 in sampler.c) */
        total = (int64_t)spex_load_acquire(&countdown->total);      /* D3 (D4 in sampler.c) */
        uint32_t word = spex_load_acquire(&thread->executed[site]); /* D5 (D6 in sampler.c) */
        int32_t executions = spex_word_executions(word, gap);
        if (gap != SPEX_GAP_CHANGING && executions >= 0 &&
            gap == spex_load_relaxed(&countdown->gap))
            return total + executions;
    }
    return total;
}

uint64_t spex_threads_executions(uint32_t site) {
    int64_t sum = (int64_t)spex_threads_stateless(site);
    for (uint32_t t = 0; t < spex_threads_used(); t++)
        sum += spex_sampler_executions(spex_threads_state(t), site);
    return sum > 0 ? (uint64_t)sum : 0;
}

/* The outer loop is over threads, because each thread's words lie together in memory. A word of 0
 * was never used; most are, because most threads execute few of the sites. */
void spex_threads_add_executions(uint64_t *sums, uint32_t sites) {
    for (uint32_t site = 0; site < sites; site++)
        sums[site] += spex_threads_stateless(site);
    for (uint32_t t = 0; t < spex_threads_used(); t++) {
        const struct spex_thread *thread = spex_threads_state(t);
        for (uint32_t site = 0; site < sites; site++)
            if (spex_load_relaxed(&thread->executed[site]))
                sums[site] += (uint64_t)spex_sampler_executions(thread, site);
    }
    for (uint32_t site = 0; site < sites; site++)
        if ((int64_t)sums[site] < 0)
            sums[site] = 0;
}

/* Reservoir sampling (Vitter, ACM TOMS 11:1, 1985, algorithm R): each thread is chosen with the
 * same probability, though their number is known only at the end. */
void spex_threads_choose(struct spex_thread_set *set, uint32_t most, struct spex_random *random) {
    set->count = set->of = 0;
    for (uint32_t t = 0; t < spex_threads_used(); t++) {
        uint32_t id = spex_load_relaxed(&spex_threads_state(t)->thread_id);
        if (!id)
            continue;
        uint32_t at = set->of++ < most
                          ? set->count++
                          : (uint32_t)((spex_random_next(random) >> 32) * set->of >> 32);
        if (at >= most)
            continue;
        set->states[at] = t;
        set->ids[at] = id;
    }
}

/* Returns the CPU clock of a thread by Linux's numbering. Unlike the clock of the process it is up
 * to date while the thread runs on another CPU. */
static clockid_t thread_clock(uint32_t thread_id) {
    enum { PER_THREAD = 4, SCHEDULER = 2 };
    return (clockid_t)(~thread_id << 3 | PER_THREAD | SCHEDULER);
}

/* Whether the thread of a set still has its state. */
static bool is_there(const struct spex_thread_set *set, uint32_t at) {
    return spex_load_relaxed(&spex_threads_state(set->states[at])->thread_id) == set->ids[at];
}

static bool thread_cpu_ns(uint32_t id, uint64_t *ns) {
    return spex_clock_read(thread_clock(id), ns) == 0;
}

/* *threads is the sum of the cubes of the thread ids, which differs for different sets of threads
 * in all likelihood. */
void spex_threads_cpu_ns(const struct spex_thread_set *set, uint64_t *ns, uint64_t *threads) {
    *ns = *threads = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        uint64_t id = set->ids[i], of_thread;
        if (!is_there(set, i) || !thread_cpu_ns(set->ids[i], &of_thread))
            continue;
        *ns += of_thread;
        *threads += id * id * id;
    }
}
