/* SPDX-License-Identifier: MIT */
/* Each collector owns some rings and visits them in passes: it decodes a batch from each and hands
 * it to the sinks, then tells the sinks how far it is (the watermark). The first collector also
 * runs the chores. Between passes collectors sleep; the doorbell wakes them. */
#define _GNU_SOURCE
#include "collect/collector.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include <spex/atomic.h>
#include <spex/ticks.h>

#include "base/clock.h"
#include "base/memory/memory.h"
#include "base/service_thread.h"
#include "collect/decode.h"
#include "collect/sinks.h"
#include "collect/sleep.h"
#include "ring/doorbell.h"
#include "ring/rings.h"
#include "site/registry.h"

/* Visits at the end. A record that is still unfinished when spex stops belongs to a thread that was
 * interrupted between two instructions; a ring skips it after two visits. So many visits skip more
 * unfinished records than can be in a row. */
#define FINAL_VISITS 256

/* A collector reads its CPU time, a system call, once in CPU_PASSES passes or CPU_RECORDS
 * records, and before a long sleep. That is often enough for the controller's
 * accounts. */
#define CPU_PASSES  16
#define CPU_RECORDS 4096

/* Most records of a batch from an atomic ring, which gives its slots back as it is read: what of them
 * has not been sent when the process is killed is lost. Other rings still have it. */
#define ATOMIC_BATCH 768

/* Held for reading during a pass, and for writing during a fork, so that a fork comes between
 * passes. A collector may allocate in a pass, and not every allocator works in the child after a
 * fork in the middle of that (AddressSanitizer's before gcc 14 does not). */
static pthread_rwlock_t pass_lock = PTHREAD_RWLOCK_INITIALIZER;
/* Held by whoever waits for pass_lock. A fork that waits has it, so that collectors with a backlog
 * do not begin another pass before it. (A lock that prefers writers is an extension of glibc.) */
static pthread_mutex_t pass_turn = PTHREAD_MUTEX_INITIALIZER;
static bool passes_locked; /* by the thread that forks */

struct collector {
    pthread_t thread;
    unsigned number;
    struct spex_record *records;
    uint64_t *scratch;
    /* The watermark that the sinks were last told, in ticks. */
    uint64_t watermark;
    /* This thread's CPU time when it was last noted; passes and records taken since then. */
    uint64_t cpu_ns;
    unsigned passes;
    size_t taken;
};

static struct {
    /* The sinks and the chores are there: collectors may read. */
    bool begun;
    bool stopping;
    /* Number of collectors. Any thread may read it at any time. */
    unsigned count;
    unsigned batch;
    /* CPU time of collectors that have ended. */
    uint64_t former_cpu_ns;
    /* See spex_collectors_rest. */
    uint64_t rest_ns;
    /* Chores of the first collector. */
    const struct spex_chore *chores;
    size_t chore_count;
    struct collector threads[SPEX_MAX_COLLECTORS];
} collectors;

struct pass_result {
    /* Records taken. */
    size_t taken;
    /* A ring had a whole batch, and may have more. */
    bool backlog;
    /* How full the fullest ring was before its visit, 0 to 1. */
    double fullest;
};

static unsigned batch_of(const struct spex_ring *ring) {
    bool less = ring->commit == SPEX_COMMIT_ATOMIC && collectors.batch > ATOMIC_BATCH;
    return less ? ATOMIC_BATCH : collectors.batch;
}

/* The time in ticks up to which all records of a ring have been handed over, after a visit at `now`
 * that took `count` records. Records may be left in the ring where the batch was full, or where a
 * record is still being written: then it is the time of the last record taken, or the former
 * watermark. */
static uint64_t handed_over(const struct collector *self, const struct spex_ring *ring,
                            size_t count, uint64_t now) {
    if (count < batch_of(ring) && !spex_ring_stuck(ring))
        return now;
    return count > 0 ? self->records[count - 1].timestamp : self->watermark;
}

/* Whether the ring is this collector's. The rings of one type are spread over the collectors,
 * and so are the rings of one CPU, so that neither a busy type nor a busy CPU is left to one
 * collector. */
static bool is_own(const struct collector *self, unsigned ring) {
    return (ring / SPEX_PROBE_TYPES + ring % SPEX_PROBE_TYPES) % collectors.count == self->number;
}

/* The first ring from `ring` on that is this collector's and whose type is in use;
 * spex_rings_count() where there is none. */
static unsigned own_ring(const struct collector *self, unsigned ring) {
    uint32_t used = spex_rings_used();
    while (ring < spex_rings_count() &&
           (!is_own(self, ring) || !(used & 1u << ring % SPEX_PROBE_TYPES)))
        ring++;
    return ring;
}

static void batch_hand(const struct collector *self, const struct spex_ring *ring, unsigned cpu,
                       size_t count) {
    const struct spex_batch batch = {.records = self->records,
                                     .count = count,
                                     .words = self->scratch,
                                     .record_words = ring->record_words,
                                     .cpu = cpu < spex_rings.cpus ? cpu : SPEX_STREAM_NO_CPU};
    spex_sinks_records(&batch);
}

/* Takes one batch from a ring, and lowers *watermark where records are left in it. */
static void ring_visit(struct collector *self, unsigned r, struct pass_result *result,
                       uint64_t *watermark) {
    struct spex_ring ring = spex_rings_at(&spex_rings, r);
    double fill = spex_ring_fill(&ring);
    size_t count = spex_decode_ring(r, self->records, batch_of(&ring), self->scratch);
    if (count > 0)
        batch_hand(self, &ring, r / SPEX_PROBE_TYPES, count);
    uint64_t until = handed_over(self, &ring, count, *watermark);
    if (until < *watermark)
        *watermark = until;
    result->backlog |= count == batch_of(&ring);
    if (fill > result->fullest)
        result->fullest = fill;
    result->taken += count;
}

/* The number of chores of this collector: only the first has any. */
static size_t chores_of(const struct collector *self) {
    return self->number == 0 ? collectors.chore_count : 0;
}

/* Visits each of this collector's rings once, reports the watermark, and runs the chores. */
static struct pass_result collector_pass(struct collector *self) {
    struct pass_result result = {0, false, 0};
    uint64_t watermark = spex_ticks();
    for (unsigned r = own_ring(self, 0); r < spex_rings_count(); r = own_ring(self, r + 1))
        ring_visit(self, r, &result, &watermark);
    if (watermark > self->watermark)
        self->watermark = watermark;
    spex_sinks_pass(self->number, self->watermark);
    for (size_t c = 0; c < chores_of(self); c++)
        collectors.chores[c].pass();
    return result;
}

/* A pass under the lock that keeps forks out. */
static struct pass_result pass_between_forks(struct collector *self) {
    pthread_mutex_lock(&pass_turn);
    pthread_rwlock_rdlock(&pass_lock);
    pthread_mutex_unlock(&pass_turn);
    struct pass_result result = collector_pass(self);
    pthread_rwlock_unlock(&pass_lock);
    return result;
}

/* Whether a chore needs passes even though no site is on. */
static bool chores_hold(const struct collector *self) {
    for (size_t c = 0; c < chores_of(self); c++)
        if (collectors.chores[c].holds && collectors.chores[c].holds())
            return true;
    return false;
}

/* Whether the collector may sleep until a chore is due at a set time: it has read nothing, no site
 * is on, and no chore needs passes. None of this changes without a ring of the doorbell. */
static bool is_idle(const struct collector *self, size_t taken) {
    return taken == 0 && spex_sites_on() == 0 && !chores_hold(self);
}

/* The sleep until the next chore is due, `ns` at most; while no site is on, until the next that is
 * done then, too. */
static uint64_t until_due(const struct collector *self, uint64_t ns, bool idle) {
    ns = idle ? UINT64_MAX : ns;
    for (size_t c = 0; c < chores_of(self); c++) {
        const struct spex_chore *chore = &collectors.chores[c];
        uint64_t due = chore->due_ns && (!idle || chore->timed) ? chore->due_ns() : UINT64_MAX;
        ns = due < ns ? due : ns;
    }
    return ns;
}

/* Whether this collector's rings have no more records, not even unfinished ones. */
static bool all_drained(const struct collector *self) {
    for (unsigned r = own_ring(self, 0); r < spex_rings_count(); r = own_ring(self, r + 1)) {
        struct spex_ring ring = spex_rings_at(&spex_rings, r);
        if (!spex_ring_drained(&ring))
            return false;
    }
    return true;
}

/* Waits for spex_collectors_begin(). False: collectors are to stop before that. A program that ends
 * soon may have begun and stopped between the two loads: then there are records. */
static bool wait_for_output(int32_t *seen) {
    while (!spex_load_acquire(&collectors.begun)) {      /* C5 (C6) */
        if (spex_load_acquire(&collectors.stopping))     /* C3 (C4) */
            return spex_load_acquire(&collectors.begun); /* C5 (C6) */
        spex_doorbell_rest(UINT64_MAX, true, seen);
    }
    return true;
}

/* Adds this thread's CPU time since the last note to that of spex's own threads. */
static void note_cpu(struct collector *self) {
    uint64_t cpu_ns = self->cpu_ns;
    spex_service_cpu_note(&cpu_ns);
    /* Relaxed: a figure that orders nothing. */
    spex_store_relaxed(&self->cpu_ns, cpu_ns);
    self->passes = 0;
    self->taken = 0;
}

void spex_collectors_note_cpu(void) {
    note_cpu(&collectors.threads[0]);
}

void spex_collectors_rest(uint64_t ns) {
    spex_store_relaxed(&collectors.rest_ns, ns);
}

bool spex_collectors_hurry(void) {
    bool rest = spex_load_relaxed(&collectors.rest_ns) > SPEX_SLEEP_LONGEST_NS;
    if (rest)
        spex_doorbell_alarm();
    return rest;
}

static void note_cpu_now_and_then(struct collector *self, size_t taken, uint64_t sleep_ns) {
    self->taken += taken;
    if (++self->passes >= CPU_PASSES || self->taken >= CPU_RECORDS ||
        sleep_ns >= SPEX_SLEEP_PROMPT_NS)
        note_cpu(self);
}

/* The thread of a collector. It reads the doorbell before it looks for work, so a ring in
 * between is not missed. */
static void *collector_run(void *arg) {
    struct collector *self = arg;
    uint64_t sleep_ns = SPEX_SLEEP_SHORTEST_NS;
    int32_t seen = spex_doorbell_rings();
    if (!wait_for_output(&seen))
        return NULL;
    double fullest = 0;
    bool any = false;
    while (!spex_load_acquire(&collectors.stopping)) { /* C3 (C4) */
        struct pass_result last = pass_between_forks(self);
        if (last.fullest > fullest)
            fullest = last.fullest;
        any |= last.taken > 0;
        note_cpu_now_and_then(self, last.taken, sleep_ns);
        if (last.backlog)
            continue;
        uint64_t rest_ns = spex_load_relaxed(&collectors.rest_ns);
        sleep_ns = spex_sleep_next(sleep_ns, fullest, any,
                                   spex_sleep_longest(spex_sinks_prompt(), rest_ns));
        fullest = 0;
        any = false;
        bool idle = is_idle(self, last.taken);
        uint64_t ns = until_due(self, sleep_ns, idle);
        if (ns)
            spex_doorbell_rest(ns, idle, &seen);
    }
    /* All sites are off. The number of visits is limited, since a thread may be caught in a probe
     * and keep its ring from draining. */
    for (int visit = 0; visit < FINAL_VISITS && !all_drained(self); visit++)
        while (pass_between_forks(self).taken > 0)
            ;
    note_cpu(self);
    return NULL;
}

uint64_t spex_collectors_cpu_ns(void) {
    uint64_t sum = spex_load_relaxed(&collectors.former_cpu_ns);
    for (unsigned c = 0; c < SPEX_MAX_COLLECTORS; c++)
        sum += spex_load_relaxed(&collectors.threads[c].cpu_ns);
    return sum;
}

/* Frees the buffers of all collectors; their CPU time and watermarks begin anew. */
static void buffers_free(void) {
    for (unsigned c = 0; c < SPEX_MAX_COLLECTORS; c++) {
        struct collector *self = &collectors.threads[c];
        spex_free(self->records);
        spex_free(self->scratch);
        self->records = NULL;
        self->scratch = NULL;
        self->watermark = 0;
        spex_store_relaxed(&self->cpu_ns, 0);
    }
}

/* A collector owns a batch of records and the words that they are decoded from: both are written
 * before they are read. */
static int buffers_allocate(unsigned threads, unsigned batch) {
    for (unsigned c = 0; c < threads; c++) {
        struct collector *self = &collectors.threads[c];
        self->number = c;
        self->records = spex_malloc(batch * sizeof(*self->records));
        self->scratch = spex_malloc(batch * SPEX_RECORD_WORDS_MAX * sizeof(*self->scratch));
        if (!self->records || !self->scratch) {
            buffers_free();
            return -ENOMEM;
        }
    }
    return 0;
}

/* Stops the first `started` collectors and frees their buffers. Their CPU time stays in the
 * account. */
static void threads_end(unsigned started) {
    spex_store_release(&collectors.stopping, true); /* C4 (C3): every site has been switched off */
    spex_doorbell_ring();
    for (unsigned c = 0; c < started; c++)
        pthread_join(collectors.threads[c].thread, NULL);
    spex_store_relaxed(&collectors.former_cpu_ns, spex_collectors_cpu_ns());
    buffers_free();
    spex_store_relaxed(&collectors.count, 0);
}

/* If one thread cannot be started, those that run are ended: they are still waiting for
 * spex_collectors_begin(). */
int spex_collectors_start(unsigned threads, unsigned batch) {
    int err = spex_decode_prepare();
    err = err ? err : buffers_allocate(threads, batch);
    if (err)
        return err;
    collectors.begun = false;
    spex_collectors_rest(0);
    collectors.stopping = false;
    collectors.batch = batch;
    spex_store_relaxed(&collectors.count, threads);
    unsigned started = 0;
    while (!err && started < threads) {
        err = spex_service_thread_start(&collectors.threads[started].thread, "spex-collector",
                                        SPEX_SERVICE_STACK, collector_run,
                                        &collectors.threads[started]);
        started += !err;
    }
    if (err)
        threads_end(started);
    return err;
}

void spex_collectors_begin(const struct spex_chore *chores, size_t count) {
    collectors.chores = chores;
    collectors.chore_count = count;
    spex_store_release(&collectors.begun, true); /* C6 (C5): the sinks and the chores */
    spex_doorbell_ring();
}

void spex_collectors_stop(void) {
    if (collectors.count)
        threads_end(collectors.count);
}

unsigned spex_collectors_running(void) {
    return spex_load_relaxed(&collectors.count);
}

/* The timed functions of locks go by the date, which somebody may set meanwhile. */
void spex_collectors_fork_prepare(struct spex_patience *patience) {
    bool turn, locked = false;
    while (!(turn = pthread_mutex_trylock(&pass_turn) == 0) && spex_patience_left(patience))
        continue;
    while (turn && !(locked = pthread_rwlock_trywrlock(&pass_lock) == 0) &&
           spex_patience_left(patience))
        continue;
    if (turn && !locked)
        pthread_mutex_unlock(&pass_turn);
    passes_locked = locked;
}

void spex_collectors_fork_parent(void) {
    if (!passes_locked)
        return;
    pthread_rwlock_unlock(&pass_lock);
    pthread_mutex_unlock(&pass_turn);
}

void spex_collectors_fork_child(void) {
    spex_collectors_fork_parent();
    /* Other holders are gone. */
    pass_lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    pass_turn = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    buffers_free();
    spex_decode_fork_child();
    collectors.former_cpu_ns = 0;
    spex_store_relaxed(&collectors.count, 0);
}
