/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "rate/occupancy_sampler.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/ticks.h>

#include "base/clock.h"
#include "base/random.h"
#include "collect/metrics.h"
#include "probe/threads.h"
#include "site/registry.h"

/* So much dearer than the cheapest so far the next may be, at most, for it to be believed. */
#define AROUND_RISE 1.05

/* Of a probe, by the index of its first site. */
struct seen {
    struct spex_occupancy activity;
    uint64_t look; /* the last at it; 0: there was none */
    uint32_t threads;
};

static struct {
    struct spex_sites_polled polled;
    struct seen seen[SPEX_MAX_SITES];
    struct spex_random random;
    uint64_t looks;
    uint64_t due_ns;  /* CLOCK_MONOTONIC; 0: nothing is probed */
    double begun;     /* Hz */
    double frequency; /* Hz */
    double cost;      /* seconds a look, lately */
    double around; /* seconds that the collector takes for a pass in which there is little to do */
    uint64_t cpu_ns; /* its CPU time, as of the last look */
    uint32_t passes; /* since then */
} prober;

void spex_occupancy_sampler_begin(double frequency) {
    spex_metrics_lock();
    memset(prober.seen, 0, spex_sites_count() * sizeof(prober.seen[0]));
    spex_random_seed(&prober.random, spex_ticks(), (uint64_t)getpid());
    prober.looks = 0;
    prober.due_ns = 0;
    prober.begun = prober.frequency = frequency;
    prober.cost = prober.around = 0;
    prober.cpu_ns = 0;
    spex_metrics_unlock();
}

void spex_occupancy_sampler_set(double frequency) {
    prober.frequency = frequency > 0 ? frequency : prober.begun;
}

static bool is_active(const struct spex_thread *thread, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++)
        /* Relaxed: what has begun or ended just now may be seen or not. */
        if (spex_load_relaxed(&thread->countdowns[prober.polled.sites[i]].active))
            return true;
    return false;
}

/* In the sites of one probe, each counted once. */
static uint32_t threads_in(uint32_t from, uint32_t to) {
    uint32_t active = 0;
    for (uint32_t t = 0; t < spex_threads_used(); t++)
        active += is_active(spex_threads_state(t), from, to);
    return active;
}

static void note(struct seen *seen, uint32_t threads) {
    bool follows = seen->look && seen->look + 1 == prober.looks;
    spex_occupancy_add(&seen->activity, threads, follows ? (int64_t)seen->threads : -1);
    seen->look = prober.looks;
    seen->threads = threads;
}

void spex_occupancy_sampler_look(void) {
    const struct spex_sites_polled *polled = &prober.polled;
    spex_sites_polled(&prober.polled);
    prober.looks++;
    for (uint32_t from = 0, to; from < polled->count; from = to) {
        uint32_t first = spex_site_info(polled->sites[from])->probe;
        for (to = from + 1; to < polled->count; to++)
            if (spex_site_info(polled->sites[to])->probe != first)
                break;
        note(&prober.seen[first], threads_in(from, to));
    }
}

/* Evenly between a half and one and a half of the mean. */
static uint64_t interval_ns(void) {
    double even = (double)(spex_random_next(&prober.random) >> 11) * 0x1p-53;
    return (uint64_t)((0.5 + even) * 1e9 / prober.frequency);
}

/* The cheapest pass, lately: others have taken in records, of which the cost is known otherwise. */
static void note_around(double seconds) {
    double most = prober.around * AROUND_RISE;
    if (prober.cpu_ns && prober.passes)
        prober.around = prober.around > 0 && seconds > most ? most : seconds;
}

static void look_and_measure(void) {
    uint64_t begin = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    note_around((double)(begin - prober.cpu_ns) / 1e9 / prober.passes);
    spex_occupancy_sampler_look();
    prober.cpu_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    prober.passes = 0;
    double cost = (double)(prober.cpu_ns - begin) / 1e9;
    prober.cost += (cost - prober.cost) / (prober.cost > 0 ? 8 : 1);
}

/* A collector that was kept from it for long does not make up for it: looks one after the other
 * say the same. */
static void look_when_due(void) {
    spex_sites_polled(&prober.polled);
    if (prober.polled.count == 0 || !spex_metrics_there()) {
        prober.due_ns = 0;
        return;
    }
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    if (prober.due_ns && now < prober.due_ns)
        return;
    if (prober.due_ns)
        look_and_measure();
    prober.due_ns = now + interval_ns();
}

void spex_occupancy_sampler_pass(void) {
    spex_metrics_lock();
    prober.passes++;
    look_when_due();
    spex_metrics_unlock();
}

uint64_t spex_occupancy_sampler_wait(void) {
    if (!prober.due_ns)
        return UINT64_MAX;
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    return now < prober.due_ns ? prober.due_ns - now : 0;
}

double spex_occupancy_sampler_cost(void) {
    return prober.cost + prober.around;
}

struct spex_occupancy spex_occupancy_sampler_occupancy(uint32_t first) {
    return prober.seen[first].activity;
}
