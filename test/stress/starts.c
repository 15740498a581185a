/* SPDX-License-Identifier: MIT */
/* Threads execute a probe from before spex is ever started; it is started and stopped under them
 * again and again while another thread asks for the status. After each stop the accounts are
 * exact, and what came out is what the threads have made.
 *
 *     starts COLLECTORS RING_RECORDS
 *
 * What a probe needs of the library appears while the probe runs only at the first start: that is
 * what a run under ThreadSanitizer is for. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "../capture.h"
#include "../status.h"

enum { SNAPSHOT = 11 };
enum { THREADS = 3, ROUNDS = 20 };

SPEX_PROBE_NAME(SNAPSHOT, "work.snapshot");

struct worker {
    pthread_t thread;
    uint64_t number;
    uint64_t executions; /* read by others while the worker rests */
};

static struct worker workers[THREADS];
static pthread_barrier_t work_begins, work_ends;
static bool working;
static bool asking = true;
static uint64_t seen; /* records that came out */

static void fail(const char *what) {
    printf("%s\n", what);
    exit(1);
}

static uint64_t derived(uint64_t worker, uint64_t sequence) {
    return (worker << 32 ^ sequence) * 0x9e3779b97f4a7c15u;
}

__attribute__((noinline)) static void execute(uint64_t worker, uint64_t sequence) {
    SNAPSHOT_PROBE(SNAPSHOT, 1, worker, sequence, derived(worker, sequence));
}

static void *worker_run(void *arg) {
    struct worker *worker = arg;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&work_begins);
        while (spex_load_relaxed(&working))
            execute(worker->number, ++worker->executions);
        pthread_barrier_wait(&work_ends);
    }
    return NULL;
}

/* Figures taken while everything moves are estimates, but no nonsense. */
static void *asker_run(void *arg) {
    uint64_t consumed = 0;
    const uint32_t *collectors = arg;
    while (spex_load_relaxed(&asking)) {
        struct spex_status now = status_now();
        if (now.consumed < consumed)
            fail("fewer records consumed than before");
        if (now.collectors > *collectors || now.sites_on > now.sites)
            fail("a status of no time");
        consumed = now.consumed;
        sched_yield();
    }
    return NULL;
}

/* One call at a time: the capture has a lock. */
static void see(const struct spex_record *record, void *context) {
    (void)context;
    if (record->probe_id != SNAPSHOT || record->field_count != 3 || record->weight != 1)
        fail("a record of no probe");
    if (record->fields[0] >= THREADS)
        fail("a snapshot of no worker");
    if (record->fields[2] != derived(record->fields[0], record->fields[1]))
        fail("a torn snapshot");
    seen++;
}

static void start(const struct spex_options *options) {
    capture_start(see, NULL);
    if (spex_start(options) != 0)
        fail("spex_start failed");
    if (status_now().collectors != options->collectors)
        fail("another number of collectors");
}

/* While nobody records: a record under way when the probes went off may be in its ring by now. */
static void check(uint64_t executions, bool drained) {
    struct spex_status now = status_now();
    if (now.produced != now.consumed + now.lost + now.pending)
        fail("produced is not consumed + lost + pending");
    if (now.consumed != seen)
        fail("consumed is not what the sink was given");
    if (now.produced > executions)
        fail("more produced than executed");
    if (now.pending > (drained ? 0 : THREADS))
        fail("records left behind by a stop");
    if (now.undelivered != 0 || now.unrecorded != 0)
        fail("unrecorded or undelivered records");
}

static void round_run(const struct spex_options *options) {
    uint64_t before = status_now().consumed, executions = 0;
    spex_store_relaxed(&working, true);
    pthread_barrier_wait(&work_begins);
    start(options);
    while (status_now().consumed == before)
        sched_yield();
    spex_stop();
    spex_store_relaxed(&working, false);
    pthread_barrier_wait(&work_ends);
    for (int w = 0; w < THREADS; w++)
        executions += workers[w].executions;
    check(executions, false);
}

int main(int argc, char **argv) {
    pthread_t asker;
    if (argc != 3)
        return 2;
    const struct spex_options options = {
        .size = sizeof(options),
        .out = "/dev/null",
        .probes = "*",
        .collectors = (unsigned)strtoul(argv[1], NULL, 10),
        .ring_records = (unsigned)strtoul(argv[2], NULL, 10),
    };
    uint32_t collectors = options.collectors;
    pthread_barrier_init(&work_begins, NULL, THREADS + 1);
    pthread_barrier_init(&work_ends, NULL, THREADS + 1);
    if (pthread_create(&asker, NULL, asker_run, &collectors) != 0)
        fail("no thread");
    for (int w = 0; w < THREADS; w++) {
        workers[w].number = (uint64_t)w;
        if (pthread_create(&workers[w].thread, NULL, worker_run, &workers[w]) != 0)
            fail("no thread");
    }
    for (int round = 0; round < ROUNDS; round++)
        round_run(&options);
    spex_store_relaxed(&asking, false);
    pthread_join(asker, NULL);
    for (int w = 0; w < THREADS; w++)
        pthread_join(workers[w].thread, NULL);
    start(&options);
    spex_stop();
    check(UINT64_MAX, true);
    printf("%llu records of %d starts\n", (unsigned long long)seen, ROUNDS);
    return 0;
}
