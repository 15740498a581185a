/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include <urcu/futex.h>

#include <spex/atomic.h>
#include <spex/ticks.h>

#include "clock.h"
#include "controller.h"
#include "prober.h"
#include "regions.h"
#include "rings.h"
#include "service_thread.h"
#include "sinks.h"
#include "sites.h"

/* Between passes a collector sleeps, so long that the rings stay well below full: the time halves
 * when one was over a quarter full, down to none at all, and doubles while all were below an eighth. A
 * record waits at most the longest sleep; an idle program's collector wakes 100 times a second for a few
 * microseconds. */
#define SLEEP_SHORTEST_NS 50000u
#define SLEEP_LONGEST_NS  10000000u

/* Records that are still being written when spex stops belong to threads caught between two
 * instructions; the ring passes over one after two visits. So many visits pass over more of them
 * than will ever be in a row. */
#define FINAL_VISITS 256

/* A collector's CPU time is asked for, which is a system call, once in so many passes or records, and whenever it
 * sleeps long: the controller must know of it before it has become much. */
#define CPU_PASSES  16
#define CPU_RECORDS 4096

/* Held for reading during a pass. A collector may allocate there, and not every allocator can be used in the child of
 * a fork that has happened meanwhile (AddressSanitizer's before gcc 14 cannot): with this a fork comes between passes.
 * Writers first, or a collector with a backlog would keep them out. */
static pthread_rwlock_t passes = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static bool passes_held; /* by who forks */

struct collector {
    pthread_t thread;
    unsigned number;
    struct spex_record *records;
    uint64_t *scratch;
    uint64_t watermark; /* as last passed on */
    uint64_t cpu_ns;    /* this thread's CPU time, as of its last pass or so */
    unsigned passes;    /* since then */
    size_t taken;       /* records, since then */
};

static struct {
    int32_t calls; /* futex: counts reasons to look again; collectors rest on it */
    bool resting;  /* a collector is, or is about to be, asleep with a time limit */
    bool begun;    /* there is an output */
    bool stopping;
    unsigned count; /* of collectors; anyone may ask for it at any time */
    unsigned batch;
    uint64_t former_cpu_ns; /* of collectors that have ended */
    struct collector collectors[SPEX_MAX_COLLECTORS];
} all;

struct pass_result {
    size_t taken;   /* records */
    bool backlog;   /* a ring had more than one batch */
    double fullest; /* share of its capacity that the fullest ring held */
};

/* Up to when this collector has handed over a ring that it has just taken `count` records of. Where
 * records were left in it, a batch's worth or behind one that is still being written, that is the
 * last one taken, or as far as it was before. */
static uint64_t handed_over(const struct collector *self, const struct spex_ring *ring,
                            size_t count, uint64_t now) {
    if (count < all.batch && !spex_ring_stuck(ring))
        return now;
    return count > 0 ? self->records[count - 1].timestamp : self->watermark;
}

/* Rings of one type belong to different collectors, as do those of one CPU. */
static bool is_own(const struct collector *self, unsigned ring) {
    return (ring / SPEX_PROBE_TYPES + ring % SPEX_PROBE_TYPES) % all.count == self->number;
}

/* The first ring from `ring` on that is this collector's and may hold records; the number of all rings
 * when there is none. */
static unsigned own_ring(const struct collector *self, unsigned ring) {
    uint32_t used = spex_rings_used();
    while (ring < spex_rings_count() &&
           (!is_own(self, ring) || !(used & 1u << ring % SPEX_PROBE_TYPES)))
        ring++;
    return ring;
}

static void visit(struct collector *self, unsigned r, struct pass_result *result,
                  uint64_t *watermark) {
    struct spex_ring ring = spex_rings_at(&spex_rings, r);
    double fill = spex_ring_fill(&ring);
    size_t count = spex_rings_read(r, self->records, all.batch, self->scratch);
    if (count > 0)
        spex_sinks_records(self->records, count);
    uint64_t until = handed_over(self, &ring, count, *watermark);
    if (until < *watermark)
        *watermark = until;
    result->backlog |= count == all.batch;
    if (fill > result->fullest)
        result->fullest = fill;
    result->taken += count;
}

/* Visits each of this collector's rings once. */
static struct pass_result pass(struct collector *self) {
    struct pass_result result = {0, false, 0};
    uint64_t watermark = spex_ticks();
    for (unsigned r = own_ring(self, 0); r < spex_rings_count(); r = own_ring(self, r + 1))
        visit(self, r, &result, &watermark);
    if (watermark > self->watermark)
        self->watermark = watermark;
    spex_sinks_pass(self->number, self->watermark);
    if (self->number == 0) {
        spex_prober_pass();
        spex_controller_pass();
        spex_regions_tell();
    }
    return result;
}

static struct pass_result pass_between_forks(struct collector *self) {
    pthread_rwlock_rdlock(&passes);
    struct pass_result result = pass(self);
    pthread_rwlock_unlock(&passes);
    return result;
}

/* Nothing is left to read, and nothing will be before a call. */
static bool is_idle(const struct collector *self, size_t taken) {
    return taken == 0 && spex_sites_on() == 0 && !(self->number == 0 && spex_controller_holds());
}

/* `fullest`: since the last sleep. 0: no sleep at all. */
static uint64_t next_sleep(uint64_t ns, double fullest) {
    if (fullest > 0.25)
        return ns / 2 >= SLEEP_SHORTEST_NS ? ns / 2 : 0;
    if (fullest < 0.125 && ns == 0)
        return SLEEP_SHORTEST_NS;
    if (fullest < 0.125)
        return ns * 2 < SLEEP_LONGEST_NS ? ns * 2 : SLEEP_LONGEST_NS;
    return ns;
}

/* The first collector sleeps no longer than until the controller is to be told, or the prober to look. */
static uint64_t until_due(const struct collector *self, uint64_t ns) {
    uint64_t due = self->number == 0 ? spex_controller_due_ns() : UINT64_MAX;
    uint64_t wait = self->number == 0 ? spex_prober_wait() : UINT64_MAX;
    uint64_t least = due < wait ? due : wait;
    return least < ns ? least : ns;
}

/* Sleeps for ns, or, with every site off and nothing left to read, until a call. `seen` is the
 * count of calls that this collector has answered. */
static void rest(uint64_t ns, bool idle, int32_t *seen) {
    struct timespec limit = {.tv_nsec = (long)ns};
    spex_store_relaxed(&all.resting, !idle);
    futex_async(&all.calls, FUTEX_WAIT, *seen, idle ? NULL : &limit, NULL, 0);
    spex_store_relaxed(&all.resting, false);
    *seen = spex_load_acquire(&all.calls); /* C1 (C2) */
}

static void call(void) {
    spex_fetch_add_release(&all.calls, 1); /* C2 (C1): what the call is about was written before */
    futex_async(&all.calls, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void spex_collectors_alarm(void) {
    /* Relaxed: an alarm missed here is one longest sleep late. */
    if (spex_load_relaxed(&all.resting)) {
        spex_store_relaxed(&all.resting, false);
        call();
    }
}

static bool all_drained(const struct collector *self) {
    for (unsigned r = own_ring(self, 0); r < spex_rings_count(); r = own_ring(self, r + 1)) {
        struct spex_ring ring = spex_rings_at(&spex_rings, r);
        if (!spex_ring_drained(&ring))
            return false;
    }
    return true;
}

/* False: it was not to be. */
static bool wait_for_output(int32_t *seen) {
    while (!spex_load_acquire(&all.begun)) {  /* C5 (C6) */
        if (spex_load_acquire(&all.stopping)) /* C3 (C4) */
            return false;
        rest(0, true, seen);
    }
    return true;
}

static void note_cpu(struct collector *self) {
    /* Relaxed: a figure for people. */
    spex_store_relaxed(&self->cpu_ns, spex_clock_ns(CLOCK_THREAD_CPUTIME_ID));
    self->passes = 0;
    self->taken = 0;
}

static void note_cpu_now_and_then(struct collector *self, size_t taken, uint64_t sleep_ns) {
    self->taken += taken;
    if (++self->passes >= CPU_PASSES || self->taken >= CPU_RECORDS || sleep_ns == SLEEP_LONGEST_NS)
        note_cpu(self);
}

static void *collector_run(void *arg) {
    struct collector *self = arg;
    uint64_t sleep_ns = SLEEP_SHORTEST_NS;
    int32_t seen = spex_load_acquire(&all.calls); /* C1 (C2) */
    if (!wait_for_output(&seen))
        return NULL;
    double fullest = 0;
    while (!spex_load_acquire(&all.stopping)) { /* C3 (C4) */
        struct pass_result last = pass_between_forks(self);
        if (last.fullest > fullest)
            fullest = last.fullest;
        note_cpu_now_and_then(self, last.taken, sleep_ns);
        if (last.backlog)
            continue;
        sleep_ns = next_sleep(sleep_ns, fullest);
        fullest = 0;
        uint64_t ns = until_due(self, sleep_ns);
        if (ns)
            rest(ns, is_idle(self, last.taken), &seen);
    }
    /* What is in the rings now; not what a probe that is still under way will add for ever. */
    for (int visit = 0; visit < FINAL_VISITS && !all_drained(self); visit++)
        while (pass_between_forks(self).taken > 0)
            ;
    note_cpu(self);
    return NULL;
}

uint64_t spex_collectors_cpu_ns(void) {
    uint64_t sum = spex_load_relaxed(&all.former_cpu_ns);
    for (unsigned c = 0; c < SPEX_MAX_COLLECTORS; c++)
        sum += spex_load_relaxed(&all.collectors[c].cpu_ns);
    return sum;
}

static void buffers_free(void) {
    for (unsigned c = 0; c < SPEX_MAX_COLLECTORS; c++) {
        struct collector *self = &all.collectors[c];
        free(self->records);
        free(self->scratch);
        self->records = NULL;
        self->scratch = NULL;
        self->watermark = 0;
        spex_store_relaxed(&self->cpu_ns, 0);
    }
}

static int buffers_allocate(unsigned threads, unsigned batch) {
    for (unsigned c = 0; c < threads; c++) {
        struct collector *self = &all.collectors[c];
        self->number = c;
        self->records = calloc(batch, sizeof(*self->records));
        self->scratch = calloc(batch, SPEX_RECORD_WORDS_MAX * sizeof(*self->scratch));
        if (!self->records || !self->scratch) {
            buffers_free();
            return -ENOMEM;
        }
    }
    return 0;
}

static void threads_end(unsigned started) {
    spex_store_release(&all.stopping, true); /* C4 (C3): every site has been switched off */
    call();
    for (unsigned c = 0; c < started; c++)
        pthread_join(all.collectors[c].thread, NULL);
    spex_store_relaxed(&all.former_cpu_ns, spex_collectors_cpu_ns());
    buffers_free();
    spex_store_relaxed(&all.count, 0);
}

int spex_collectors_start(unsigned threads, unsigned batch) {
    int err = buffers_allocate(threads, batch);
    if (err)
        return err;
    all.begun = false;
    all.stopping = false;
    all.batch = batch;
    spex_store_relaxed(&all.count, threads);
    unsigned started = 0;
    while (!err && started < threads) {
        err = spex_service_thread_start(&all.collectors[started].thread, "spex-collector",
                                        collector_run, &all.collectors[started]);
        started += !err;
    }
    if (err)
        threads_end(started);
    return err;
}

void spex_collectors_begin(void) {
    spex_store_release(&all.begun, true); /* C6 (C5): the sinks */
    call();
}

void spex_collectors_wake(void) {
    call();
}

void spex_collectors_stop(void) {
    if (all.count)
        threads_end(all.count);
}

unsigned spex_collectors_running(void) {
    return spex_load_relaxed(&all.count);
}

void spex_collectors_fork_prepare(uint64_t until_ns) {
    struct timespec limit = {.tv_sec = (time_t)(until_ns / 1000000000),
                             .tv_nsec = (long)(until_ns % 1000000000)};
    passes_held = pthread_rwlock_timedwrlock(&passes, &limit) == 0;
}

void spex_collectors_fork_parent(void) {
    if (passes_held)
        pthread_rwlock_unlock(&passes);
}

void spex_collectors_fork_child(void) {
    passes = (pthread_rwlock_t)
        PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP; /* its holders are gone */
    buffers_free();
    all.former_cpu_ns = 0;
    spex_store_relaxed(&all.count, 0);
}
