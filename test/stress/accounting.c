/* SPDX-License-Identifier: MIT */
/* The whole library under load: eight threads on two CPUs execute probes of every type, and in the
 * end every execution is accounted for.
 *
 *     accounting MODE COLLECTORS RING_RECORDS EXECUTIONS
 *
 *     plain     as fast as they can; small rings lose records, big ones must not
 *     sampled   one record stands for seven executions
 *     periods   the period changes all the while
 *     exits     every thread is replaced again and again */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "../capture.h"
#include "../status.h"

enum { CNT = 11, LAT, TPT, SNAPSHOT };
enum { THREADS = 8, GENERATIONS = 40, TYPES = 4, SKIP = 77 };

SPEX_PROBE_NAME(CNT, "work.cnt");
SPEX_PROBE_NAME(LAT, "work.lat");
SPEX_PROBE_NAME(TPT, "work.tpt");
SPEX_PROBE_NAME(SNAPSHOT, "work.snapshot");

struct worker {
    pthread_t thread;
    unsigned number;
    int cpu;
    uint64_t executions;
    uint64_t last_seen; /* sequence number of its last snapshot that came out */
};

/* What the records that came out say. */
static struct {
    uint64_t records[TYPES];
    uint64_t weight[TYPES];
} seen;

static struct worker workers[THREADS * GENERATIONS];
static unsigned worker_count;
static pthread_barrier_t flush_begins;
static bool with_flush;
static unsigned running;

static void fail(const char *what) {
    printf("%s\n", what);
    exit(1);
}

static uint64_t derived(uint64_t worker, uint64_t sequence) {
    return (worker << 32 ^ sequence) * 0x9e3779b97f4a7c15u;
}

/* One probe a function, and none inlined: wherever the compiler copies a probe, the copy is a site
 * of its own with its own count of executions, and the last executions of a copy would be in no
 * record. */
#define ALONE __attribute__((noinline)) static void

ALONE execute_cnt(void) {
    CNT_PROBE_BEGIN(CNT, 1);
    CNT_PROBE_END(CNT);
}

ALONE execute_lat(void) {
    LAT_PROBE_BEGIN(LAT, 1);
    LAT_PROBE_END(LAT);
}

ALONE execute_tpt(void) {
    TPT_PROBE_BEGIN(TPT, 1);
    TPT_PROBE_END(TPT);
}

ALONE execute_snapshot(uint64_t worker, uint64_t sequence) {
    SNAPSHOT_PROBE(SNAPSHOT, 1, worker, sequence, derived(worker, sequence));
}

static void execute(uint64_t worker, uint64_t sequence) {
    execute_cnt();
    execute_lat();
    execute_tpt();
    execute_snapshot(worker, sequence);
}

static void *worker_run(void *arg) {
    struct worker *worker = arg;
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET((unsigned)worker->cpu, &cpu);
    pthread_setaffinity_np(pthread_self(), sizeof(cpu), &cpu);
    for (uint64_t i = 1; i <= worker->executions; i++)
        execute(worker->number, i);
    spex_fetch_add_relaxed(&running, -1);
    if (with_flush) {
        pthread_barrier_wait(&flush_begins);
        execute(worker->number, worker->executions + 1);
    }
    return NULL;
}

static void see_snapshot(const struct spex_record *record) {
    if (record->field_count != 3 || record->fields[0] >= THREADS * GENERATIONS)
        fail("a snapshot of no worker");
    struct worker *worker = &workers[record->fields[0]];
    if (record->fields[2] != derived(record->fields[0], record->fields[1]))
        fail("a torn snapshot");
    if (record->fields[1] <= worker->last_seen)
        fail("a snapshot twice or out of order");
    if (record->cpu_id != worker->cpu)
        fail("a snapshot with another CPU's number");
    worker->last_seen = record->fields[1];
}

static void see_fields(const struct spex_record *record) {
    static const unsigned fields[TYPES] = {1, 1, 2, 3};
    unsigned type = record->probe_id - CNT;
    if (record->field_count != fields[type])
        fail("a record with too many or too few fields");
    if ((record->probe_type & (SPEX_CNT | SPEX_TPT)) && record->fields[0] != record->weight)
        fail("a record whose first field is not its weight");
    if ((record->probe_type & (SPEX_LAT | SPEX_TPT)) &&
        record->fields[record->field_count - 1] > record->timestamp)
        fail("a record of an execution longer than time");
    if (record->probe_type == SPEX_SNAPSHOT)
        see_snapshot(record);
}

static void see(const struct spex_record *record, void *context) {
    unsigned type = (unsigned)record->probe_id - CNT;
    (void)context;
    if (type >= TYPES || record->probe_type != 1u << type)
        fail("a record of no probe");
    if (record->weight == 0 || record->thread_id == 0)
        fail("a record without weight or thread");
    see_fields(record);
    seen.records[type]++;
    seen.weight[type] += record->weight;
}

/* Figures taken while everything moves are estimates, but they never go backwards. */
static void watch(void) {
    static uint64_t consumed;
    struct spex_status now = status_now();
    if (now.consumed < consumed)
        fail("fewer records consumed than before");
    consumed = now.consumed;
}

static void change_period(void) {
    static const char *const selections[] = {"*@3", "*", "work.*@100", "*@2,work.lat@11",
                                             "*:tpt@5,*"};
    static unsigned turn;
    /* Every selection matches all four: an execution while its probe is off would not be counted.
     */
    const char *selection = selections[turn++ % (sizeof(selections) / sizeof(selections[0]))];
    if (spex_set(selection) != TYPES)
        fail("spex_set does not switch on all probes");
}

static void workers_start(unsigned count, uint64_t executions, const int cpus[2]) {
    running = count;
    for (unsigned w = 0; w < count; w++) {
        struct worker *worker = &workers[worker_count];
        *worker =
            (struct worker){.number = worker_count++, .cpu = cpus[w % 2], .executions = executions};
        if (pthread_create(&worker->thread, NULL, worker_run, worker) != 0)
            fail("no thread");
    }
}

static void workers_run(const char *mode, uint64_t executions, const int cpus[2]) {
    workers_start(THREADS, executions, cpus);
    while (spex_load_relaxed(&running) > 0) {
        watch();
        if (strcmp(mode, "periods") == 0)
            change_period();
        sched_yield();
    }
    if (with_flush) {
        if (spex_set("*@1") != TYPES)
            fail("spex_set does not switch on all probes");
        pthread_barrier_wait(&flush_begins);
    }
    for (unsigned w = worker_count - THREADS; w < worker_count; w++)
        pthread_join(workers[w].thread, NULL);
}

/* After the last record has been made with period 1, every execution is in some record's weight. The
 * first record of a thread's site may come earlier than its weight says, by less than `period`. */
static void check(uint64_t executions, uint64_t ring_records, bool every_one, uint64_t period) {
    struct spex_status now = status_now();
    uint64_t records = 0;
    printf("%llu produced, %llu consumed, %llu lost, %llu pending\n",
           (unsigned long long)now.produced, (unsigned long long)now.consumed,
           (unsigned long long)now.lost, (unsigned long long)now.pending);
    for (unsigned t = 0; t < TYPES; t++)
        records += seen.records[t];
    if (now.produced != now.consumed + now.lost || now.pending != 0)
        fail("produced is not consumed + lost");
    if (now.consumed != records)
        fail("consumed is not what the sink was given");
    if (now.unrecorded != 0 || now.undelivered != 0)
        fail("unrecorded or undelivered records");
    if (every_one && now.produced != executions * TYPES)
        fail("produced is not what was executed");
    if (executions > ring_records)
        return;
    if (now.lost != 0)
        fail("records lost in rings that are big enough for all");
    for (unsigned t = 0; t < TYPES; t++)
        if (seen.weight[t] < executions ||
            seen.weight[t] > executions + worker_count * (period - 1)) {
            printf("type %u: weight %llu of %llu executions\n", t,
                   (unsigned long long)seen.weight[t], (unsigned long long)executions);
            fail("weights are not what was executed");
        }
}

static bool two_cpus(int cpus[2]) {
    cpu_set_t allowed;
    int found = 0;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return false;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            cpus[found++] = (int)cpu;
    return found == 2;
}

int main(int argc, char **argv) {
    int cpus[2];
    if (argc != 5)
        return 2;
    if (!two_cpus(cpus)) {
        printf("skipped: this test needs two CPUs\n");
        return SKIP;
    }
    const char *mode = argv[1];
    bool sampled = strcmp(mode, "sampled") == 0;
    unsigned generations = strcmp(mode, "exits") == 0 ? GENERATIONS : 1;
    uint64_t executions = strtoul(argv[4], NULL, 10);
    const struct spex_options options = {
        .size = sizeof(options),
        .out = "/dev/null",
        .probes = sampled ? "*@7" : "*",
        .collectors = (unsigned)strtoul(argv[2], NULL, 10),
        .ring_records = (unsigned)strtoul(argv[3], NULL, 10),
    };
    with_flush = sampled || strcmp(mode, "periods") == 0;
    pthread_barrier_init(&flush_begins, NULL, THREADS + 1);
    capture_start(see, NULL);
    if (spex_start(&options) != 0)
        fail("spex_start failed");
    if (status_now().collectors != options.collectors)
        fail("another number of collectors");
    for (unsigned g = 0; g < generations; g++)
        workers_run(mode, executions, cpus);
    spex_stop();
    uint64_t period = sampled ? 7 : with_flush ? 100 : 1;
    check(worker_count * (executions + with_flush), options.ring_records, !with_flush, period);
    return 0;
}
