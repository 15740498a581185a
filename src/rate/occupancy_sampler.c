/* SPDX-License-Identifier: MIT */
/* A look reads, of each thread, the word that BEGIN and END set while they are polled
 * (`active`). No thread waits, and none is stopped. All runs in the first collector, between its
 * passes over the rings. */
#define _GNU_SOURCE
#include "rate/occupancy_sampler.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/ticks.h>

#include "base/clock.h"
#include "base/random.h"
#include "collect/metrics.h"
#include "probe/threads.h"
#include "ring/reserve.h"
#include "site/registry.h"

/* The estimate of a pass's cost rises at most by this factor a look. */
#define PASS_COST_RISE 1.05

/* Looks at a probe, by the index of its first site. */
struct seen {
    struct spex_occupancy activity;
    uint64_t look;    /* number of the last look at it; 0: none */
    uint32_t threads; /* threads that this look saw */
};

static struct {
    struct spex_sites_polled polled;
    /* For the most sites that a process can have; NULL: nothing has been polled yet, or there is
     * no memory. */
    struct seen *seen;
    struct spex_random random;
    uint64_t looks;
    uint64_t due_ns;  /* CLOCK_MONOTONIC; 0: nothing is polled */
    double begun;     /* looks a second, as set by spex_occupancy_sampler_begin() */
    double frequency; /* looks a second, as set last */
    double cost;      /* seconds a look, a moving average */
    double pass_cost; /* seconds of a pass of the collector with few records */
    uint64_t cpu_ns;  /* CPU time of the first collector at the last look */
    uint32_t passes;  /* passes of the first collector since the last look */
} sampler;

void spex_occupancy_sampler_begin(double frequency) {
    spex_metrics_lock();
    if (sampler.seen)
        memset(sampler.seen, 0, spex_sites_count() * sizeof(sampler.seen[0])); /* a fork's child */
    spex_random_seed(&sampler.random, spex_ticks(), (uint64_t)getpid());
    sampler.looks = 0;
    sampler.due_ns = 0;
    sampler.begun = sampler.frequency = frequency;
    sampler.cost = sampler.pass_cost = 0;
    sampler.cpu_ns = 0;
    spex_metrics_unlock();
}

void spex_occupancy_sampler_end(void) {
    spex_metrics_lock();
    if (sampler.seen)
        munmap(sampler.seen, SPEX_MAX_SITES * sizeof(sampler.seen[0]));
    sampler.seen = NULL;
    spex_metrics_unlock();
}

void spex_occupancy_sampler_set(double frequency) {
    sampler.frequency = frequency > 0 ? frequency : sampler.begun;
}

/* Whether the thread is executing any of the sites from index `from` to before `to`. */
static bool is_active(const struct spex_thread *thread, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        const struct spex_countdown *countdown =
            spex_countdown_seen(thread, sampler.polled.sites[i]);
        /* Relaxed: an execution that has just begun or ended may be seen or not. */
        if (countdown && spex_load_relaxed(&countdown->active))
            return true;
    }
    return false;
}

/* Threads in the sites from index `from` to before `to`, which are those of one probe. A thread in
 * several of them counts once. */
static uint32_t threads_in(uint32_t from, uint32_t to) {
    uint32_t active = 0;
    for (uint32_t t = 0; t < spex_threads_used(); t++)
        active += is_active(spex_threads_state(t), from, to);
    return active;
}

/* Adds a look at a probe. It forms a pair with the one before if no look at all was in between. */
static void seen_add(struct seen *seen, uint32_t threads) {
    bool follows = seen->look && seen->look + 1 == sampler.looks;
    spex_occupancy_add(&seen->activity, threads, follows ? (int64_t)seen->threads : -1);
    seen->look = sampler.looks;
    seen->threads = threads;
}

/* The list has the sites of a probe next to each other, so each probe is one range of it. */
void spex_occupancy_sampler_look(void) {
    const struct spex_sites_polled *polled = &sampler.polled;
    spex_sites_polled(&sampler.polled);
    sampler.looks++;
    if (!sampler.seen)
        sampler.seen = spex_memory_reserve(SPEX_MAX_SITES * sizeof(sampler.seen[0]),
                                           spex_mappings_are_locked());
    for (uint32_t from = 0, to; from < polled->count; from = to) {
        uint32_t first = spex_site_info(polled->sites[from])->probe;
        for (to = from + 1; to < polled->count; to++)
            if (spex_site_info(polled->sites[to])->probe != first)
                break;
        if (sampler.seen)
            seen_add(&sampler.seen[first], threads_in(from, to));
    }
}

/* Nanoseconds to the next look, uniformly distributed between 0.5 and 1.5 times the mean. */
static uint64_t interval_ns(void) {
    double even = (double)(spex_random_next(&sampler.random) >> 11) * 0x1p-53;
    return (uint64_t)((0.5 + even) * 1e9 / sampler.frequency);
}

/* Estimates the cost of a pass by the cheapest lately: dearer passes have taken in records, whose
 * cost the controller accounts for by itself. */
static void note_pass_cost(double seconds) {
    double most = sampler.pass_cost * PASS_COST_RISE;
    if (sampler.cpu_ns && sampler.passes)
        sampler.pass_cost = sampler.pass_cost > 0 && seconds > most ? most : seconds;
}

/* Looks, and updates the costs of a look and of a pass, in CPU time of this thread. */
static void look_and_measure(void) {
    uint64_t begin = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    note_pass_cost((double)(begin - sampler.cpu_ns) / 1e9 / sampler.passes);
    spex_occupancy_sampler_look();
    sampler.cpu_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    sampler.passes = 0;
    double cost = (double)(sampler.cpu_ns - begin) / 1e9;
    sampler.cost += (cost - sampler.cost) / (sampler.cost > 0 ? 8 : 1);
}

/* Looks if a look is due. Looks that were missed are not made up for: looks in quick succession
 * see the same. The first look after something began to be polled comes an interval later. */
static void look_when_due(void) {
    spex_sites_polled(&sampler.polled);
    if (sampler.polled.count == 0 || !spex_metrics_there()) {
        sampler.due_ns = 0;
        return;
    }
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    if (sampler.due_ns && now < sampler.due_ns)
        return;
    if (sampler.due_ns)
        look_and_measure();
    sampler.due_ns = now + interval_ns();
}

void spex_occupancy_sampler_pass(void) {
    spex_metrics_lock();
    sampler.passes++;
    look_when_due();
    spex_metrics_unlock();
}

uint64_t spex_occupancy_sampler_wait(void) {
    if (!sampler.due_ns)
        return UINT64_MAX;
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    return now < sampler.due_ns ? sampler.due_ns - now : 0;
}

double spex_occupancy_sampler_cost(void) {
    return sampler.cost + sampler.pass_cost;
}

struct spex_occupancy spex_occupancy_sampler_occupancy(uint32_t first) {
    return sampler.seen ? sampler.seen[first].activity : (struct spex_occupancy){.looks = 0};
}
