/* SPDX-License-Identifier: MIT */
/* The loops of bench/overhead, and how they are timed. */
#define _GNU_SOURCE
#include "overhead.h"

#include <err.h>
#include <linux/perf_event.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <spex/spex.h>

#include "calm.h"
#include "queues/commit_atomic.h"
#include "queues/commit_rseq.h"

enum {
    CNT = 1,
    LAT,
    TPT,
    SNAPSHOT,
    LLC,
    FLT,
    CTXSW,
    PERFCNTR,
    CHASE_OFF_ID,
    CHASE_ON_ID,
    KERNEL,
    SPAN
};
enum { THREADS_MAX = 8 };

/* So many requests are dealt with in turn. */
enum { SPAN_KEYS = 1024 };

/* What is between BEGIN and END: the compiler cannot remove it. */
#define WORK() __asm__ volatile("" ::: "memory")

#define LOOP(name, ...)                                                                            \
    static __attribute__((noinline)) void name(size_t repetitions) {                               \
        for (size_t i = 0; i < repetitions; i++) {                                                 \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static volatile uint64_t ticks_sink[2];
static int counter_fd = -1;
static __thread void **chased_line;
/* Threads have keys of their own. */
static __thread size_t span_first;
static struct spex_rseq_set push_set;
static struct spex_ring push_ring;

/* clang-format off */
LOOP(run_empty, WORK();)
LOOP(run_rdtsc, WORK(); ticks_sink[0] = spex_ticks();)
LOOP(run_two_rdtsc, ticks_sink[0] = spex_ticks(); WORK(); ticks_sink[1] = spex_ticks();)
LOOP(run_counter, uint64_t value[3]; if (read(counter_fd, value, sizeof(value)) < 0) abort();)

LOOP(run_cnt, CNT_PROBE_BEGIN(CNT, 1); WORK(); CNT_PROBE_END(CNT);)
LOOP(run_lat, LAT_PROBE_BEGIN(LAT, 1); WORK(); LAT_PROBE_END(LAT);)
LOOP(run_tpt, TPT_PROBE_BEGIN(TPT, 1); WORK(); TPT_PROBE_END(TPT);)
LOOP(run_llc, LLC_PROBE_BEGIN(LLC, 1); WORK(); LLC_PROBE_END(LLC);)
LOOP(run_flt, FLT_PROBE_BEGIN(FLT, 1); WORK(); FLT_PROBE_END(FLT);)
LOOP(run_ctxsw, CTXSW_PROBE_BEGIN(CTXSW, 1); WORK(); CTXSW_PROBE_END(CTXSW);)
LOOP(run_perfcntr, PERFCNTR_PROBE_BEGIN(PERFCNTR, 1, 0); WORK(); PERFCNTR_PROBE_END(PERFCNTR);)
LOOP(run_snapshot, WORK(); SNAPSHOT_PROBE(SNAPSHOT, 1, i, i, i);)

LOOP(run_kernel, KERNEL_PROBE_BEGIN(KERNEL, 1); WORK(); KERNEL_PROBE_END(KERNEL);)

LOOP(run_span, size_t key = span_first + i % SPAN_KEYS; SPAN_PROBE_BEGIN(SPAN, 1, key); WORK();
     SPAN_PROBE_END(SPAN, key);)

LOOP(run_cnt_scope, SPEX_CNT_SCOPE(CNT, 1); WORK();)
LOOP(run_lat_scope, SPEX_LAT_SCOPE(LAT, 1); WORK();)
LOOP(run_tpt_scope, SPEX_TPT_SCOPE(TPT, 1); WORK();)
LOOP(run_llc_scope, SPEX_LLC_SCOPE(LLC, 1); WORK();)
LOOP(run_flt_scope, SPEX_FLT_SCOPE(FLT, 1); WORK();)
LOOP(run_ctxsw_scope, SPEX_CTXSW_SCOPE(CTXSW, 1); WORK();)
LOOP(run_perfcntr_scope, SPEX_PERFCNTR_SCOPE(PERFCNTR, 1, 0); WORK();)
LOOP(run_kernel_scope, SPEX_KERNEL_SCOPE(KERNEL, 1); WORK();)

LOOP(run_chase, chased_line = *chased_line; WORK();)
LOOP(run_chase_off, LAT_PROBE_BEGIN(CHASE_OFF_ID, 1); chased_line = *chased_line; WORK();
     LAT_PROBE_END(CHASE_OFF_ID);)
LOOP(run_chase_on, LAT_PROBE_BEGIN(CHASE_ON_ID, 1); chased_line = *chased_line; WORK();
     LAT_PROBE_END(CHASE_ON_ID);)

LOOP(run_push_rseq, if (!spex_rseq_push3(&push_set, i, i, i)) abort();)
LOOP(run_push_atomic, uint64_t words[3] = {i}; spex_atomic_push(&push_ring, words);)
/* clang-format on */

enum {
    IDLE_REPETITIONS = 100000,
    BUSY_REPETITIONS = 10000,
    SLOW_REPETITIONS = 500,
    CHASE_REPETITIONS = 2000,
    IN_ALL = 1 << BEST | 1 << ATOMIC | 1 << LARGE | 1 << CLOSED,
    IN_RINGS = 1 << BEST | 1 << ATOMIC | 1 << CLOSED,
    IN_SOCKETS = 1 << BEST | 1 << CLOSED,
    IN_BEST = 1 << BEST
};

/* For each probe type: off, skipped, polled, on, scoped. */
#define PROBES(type, id, run, settings_on, repetitions)                                            \
    {type, "off", NULL, run, IDLE_REPETITIONS, 0, IN_SOCKETS},                                     \
        {type, "skipped", #id "@1000", run, IDLE_REPETITIONS, 0, IN_RINGS},                        \
        {type, "polled", #id "@poll", run, IDLE_REPETITIONS, 0, IN_BEST},                          \
        {type, "on", #id, run, repetitions, 0, settings_on}, {                                     \
        type, "scoped", #id, run##_scope, repetitions, 0, IN_BEST                                  \
    }

/* On, in 1 to THREADS_MAX threads. */
#define THREADED(type, id, run, repetitions)                                                       \
    {type, "on", #id, run, repetitions, 1, IN_BEST},                                               \
        {type, "on", #id, run, repetitions, 2, IN_BEST},                                           \
        {type, "on", #id, run, repetitions, 4, IN_BEST}, {                                         \
        type, "on", #id, run, repetitions, 8, IN_BEST                                              \
    }

const struct bench_case bench_cases[] = {
    [EMPTY] = {"empty loop", NULL, NULL, run_empty, IDLE_REPETITIONS, 0, IN_ALL},
    [RDTSC] = {"RDTSC", NULL, NULL, run_rdtsc, BUSY_REPETITIONS, 0, IN_ALL},
    [TWO_RDTSC] = {"two RDTSC", NULL, NULL, run_two_rdtsc, BUSY_REPETITIONS, 0, IN_ALL},
    [COUNTER_READ] = {"counter read", NULL, NULL, run_counter, SLOW_REPETITIONS, 0, IN_BEST},
    [CHASE] = {"chase", NULL, "10", run_chase, CHASE_REPETITIONS, 0, IN_BEST},
    [CHASE_OFF] = {"LAT in chase", "off", "10", run_chase_off, CHASE_REPETITIONS, 0, IN_BEST},
    [CHASE_ON] = {"LAT in chase", "on", "10", run_chase_on, CHASE_REPETITIONS, 0, IN_BEST},
    [PUSH_RSEQ] = {"rseq push", NULL, NULL, run_push_rseq, BUSY_REPETITIONS, 0, IN_BEST},
    [PUSH_ATOMIC] = {"atomic push", NULL, NULL, run_push_atomic, BUSY_REPETITIONS, 0, IN_BEST},
    [LAT_ONE_THREAD] = THREADED("LAT", 2, run_lat, BUSY_REPETITIONS),
    THREADED("CNT", 1, run_cnt, BUSY_REPETITIONS),
    THREADED("TPT", 3, run_tpt, BUSY_REPETITIONS),
    THREADED("SNAPSHOT", 4, run_snapshot, BUSY_REPETITIONS),
    THREADED("LLC", 5, run_llc, SLOW_REPETITIONS),
    THREADED("FLT", 6, run_flt, BUSY_REPETITIONS),
    THREADED("CTXSW", 7, run_ctxsw, BUSY_REPETITIONS),
    THREADED("PERFCNTR", 8, run_perfcntr, SLOW_REPETITIONS),
    THREADED("KERNEL", 11, run_kernel, BUSY_REPETITIONS),
    THREADED("SPAN", 12, run_span, BUSY_REPETITIONS),
    [FIRST_PROBE] = PROBES("CNT", 1, run_cnt, IN_RINGS, BUSY_REPETITIONS),
    PROBES("LAT", 2, run_lat, IN_ALL, BUSY_REPETITIONS),
    PROBES("TPT", 3, run_tpt, IN_ALL, BUSY_REPETITIONS),
    PROBES("LLC", 5, run_llc, IN_RINGS, SLOW_REPETITIONS),
    PROBES("FLT", 6, run_flt, IN_RINGS, BUSY_REPETITIONS),
    PROBES("CTXSW", 7, run_ctxsw, IN_RINGS, BUSY_REPETITIONS),
    PROBES("PERFCNTR", 8, run_perfcntr, IN_RINGS, SLOW_REPETITIONS),
    PROBES("KERNEL", 11, run_kernel, IN_RINGS, BUSY_REPETITIONS),
    {"SNAPSHOT", "off", NULL, run_snapshot, IDLE_REPETITIONS, 0, IN_SOCKETS},
    {"SNAPSHOT", "skipped", "4@1000", run_snapshot, IDLE_REPETITIONS, 0, IN_RINGS},
    {"SNAPSHOT", "on", "4", run_snapshot, BUSY_REPETITIONS, 0, IN_RINGS},
    {"SPAN", "off", NULL, run_span, IDLE_REPETITIONS, 0, IN_SOCKETS},
    {"SPAN", "skipped", "12@1000", run_span, IDLE_REPETITIONS, 0, IN_RINGS},
    {"SPAN", "on", "12", run_span, BUSY_REPETITIONS, 0, IN_RINGS},
};

const size_t bench_case_count = sizeof(bench_cases) / sizeof(bench_cases[0]);

/* PERFCNTR counts page faults here, which every machine can count. They are read by a system
 * call, as any counter that the processor does not let programs read. The read alone is that of
 * the same event. */
void bench_counter_setup(void) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_PAGE_FAULTS,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    counter_fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (counter_fd < 0)
        warn("perf_event_open: no figures of counter reads");
    SET_PERFCNTR_NAME(0, "perf::PAGE-FAULTS:u");
}

/* A cycle through all lines of a block that no cache holds, in random order (the shuffle of
 * Sattolo). Huge pages, where there are some, avoid that address translation takes the time. */
static void chase_setup(void) {
    enum { LINES = 1 << 21, LINE_POINTERS = 64 / sizeof(void *) };
    void **block = aligned_alloc((size_t)2 << 20, (size_t)LINES * 64);
    size_t *order = malloc(LINES * sizeof(*order));
    uint64_t random = 1;
    if (!block || !order)
        errx(1, "out of memory");
    madvise(block, (size_t)LINES * 64, MADV_HUGEPAGE);
    for (size_t i = 0; i < LINES; i++)
        order[i] = i;
    for (size_t i = LINES - 1; i > 0; i--) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t j = (random >> 33) % i, other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
    for (size_t i = 0; i < LINES; i++)
        block[order[i] * LINE_POINTERS] = &block[order[(i + 1) % LINES] * LINE_POINTERS];
    free(order);
    chased_line = block;
}

/* A ring of each way of committing, which nobody reads. */
static void push_setup(void) {
    enum { RECORDS = 8192, WORDS = 3 };
    size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF);
    size_t ring_bytes = spex_ring_bytes(SPEX_COMMIT_RSEQ, WORDS, RECORDS);
    push_set =
        (struct spex_rseq_set){.producers = aligned_alloc(128, cpus * SPEX_RSEQ_PRODUCER_BYTES),
                               .slots = malloc(cpus * ring_bytes),
                               .ring_bytes = ring_bytes,
                               .mask = RECORDS - 1,
                               .slot_bytes = WORDS * sizeof(uint64_t),
                               .cpus = spex_rseq_available() ? cpus : 0};
    push_ring =
        (struct spex_ring){.producer = aligned_alloc(64, sizeof(struct spex_ring_producer)),
                           .consumer = aligned_alloc(64, sizeof(struct spex_ring_consumer)),
                           .slots = calloc(1, spex_ring_bytes(SPEX_COMMIT_ATOMIC, WORDS, RECORDS)),
                           .mask = RECORDS - 1,
                           .record_words = WORDS,
                           .commit = SPEX_COMMIT_ATOMIC};
    if (!push_set.producers || !push_set.slots || !push_ring.producer || !push_ring.consumer ||
        !push_ring.slots)
        errx(1, "out of memory");
    memset(push_set.producers, 0, cpus * SPEX_RSEQ_PRODUCER_BYTES);
    memset(push_set.slots, 0, cpus * ring_bytes);
    memset(push_ring.producer, 0, sizeof(*push_ring.producer));
    memset(push_ring.consumer, 0, sizeof(*push_ring.consumer));
}

void bench_cases_setup(void) {
    chase_setup();
    push_setup();
}

size_t bench_case_find(const char *type, const char *state) {
    size_t c = FIRST_PROBE;
    while (c < bench_case_count &&
           (strcmp(bench_cases[c].type, type) != 0 || strcmp(bench_cases[c].state, state) != 0))
        c++;
    return c;
}

struct run {
    const struct bench_case *bench_case;
    pthread_barrier_t *begin;
    unsigned thread;
    double cpu_seconds;
};

static double cpu_seconds(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static void *thread_run(void *arg) {
    struct run *run = arg;
    span_first = (size_t)run->thread * SPAN_KEYS;
    /* The first record of a thread takes longer, and is not timed. */
    run->bench_case->run(run->bench_case->repetitions / 8);
    pthread_barrier_wait(run->begin);
    double before = cpu_seconds();
    run->bench_case->run(run->bench_case->repetitions);
    run->cpu_seconds = cpu_seconds() - before;
    return NULL;
}

static double ticks_per_second(void) {
    static double rate;
    struct timespec a, b;
    if (rate > 0)
        return rate;
    clock_gettime(CLOCK_MONOTONIC_RAW, &a);
    uint64_t ticks = spex_ticks();
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    clock_gettime(CLOCK_MONOTONIC_RAW, &b);
    ticks = spex_ticks() - ticks;
    rate = (double)ticks / ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9);
    return rate;
}

static double time_threads(const struct bench_case *bench_case) {
    pthread_t threads[THREADS_MAX];
    struct run runs[THREADS_MAX];
    pthread_barrier_t begin;
    double seconds = 0;
    pthread_barrier_init(&begin, NULL, bench_case->threads);
    for (unsigned t = 0; t < bench_case->threads; t++) {
        runs[t] = (struct run){bench_case, &begin, t, 0};
        if (pthread_create(&threads[t], NULL, thread_run, &runs[t]) != 0)
            errx(1, "cannot start a thread");
    }
    for (unsigned t = 0; t < bench_case->threads; t++) {
        pthread_join(threads[t], NULL);
        seconds += runs[t].cpu_seconds;
    }
    pthread_barrier_destroy(&begin);
    return seconds * ticks_per_second() / (double)(bench_case->repetitions * bench_case->threads);
}

static void select_probes(const struct bench_case *bench_case) {
    if (spex_set(bench_case->probes) < 0)
        errx(1, "cannot switch on %s", bench_case->probes);
}

/* The ticks after all earlier instructions: loads under way would otherwise be counted in the
 * next interval. */
static uint64_t settled_ticks(void) {
#if defined(__x86_64__)
    __asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dsb sy\nisb" ::: "memory");
#endif
    return spex_ticks();
}

/* The speed of memory changes while one of these cases runs: a few steps of each are timed in
 * turn. */
static void time_chases(struct bench_sample samples[]) {
    enum { BLOCK = 100 };
    uint64_t sums[3] = {0};
    select_probes(&bench_cases[CHASE]);
    double before = bench_reference();
    for (size_t step = 0; step < CHASE_REPETITIONS; step += BLOCK)
        for (int c = 0; c < 3; c++) {
            uint64_t begin = settled_ticks();
            bench_cases[CHASE + c].run(BLOCK);
            sums[c] += settled_ticks() - begin;
        }
    double reference = fmax(before, bench_reference());
    for (int c = 0; c < 3; c++)
        samples[c] = (struct bench_sample){(double)sums[c] / CHASE_REPETITIONS, reference};
}

static double case_ticks(const struct bench_case *bench_case) {
    if (bench_case->threads)
        return time_threads(bench_case);
    uint64_t begin = spex_ticks();
    bench_case->run(bench_case->repetitions);
    return (double)(spex_ticks() - begin) / (double)bench_case->repetitions;
}

static struct bench_sample time_case(const struct bench_case *bench_case) {
    select_probes(bench_case);
    bench_case->run(bench_case->repetitions / 8);
    double before = bench_reference(), ticks = case_ticks(bench_case);
    return (struct bench_sample){ticks, fmax(before, bench_reference())};
}

void bench_round(enum bench_setting setting, struct bench_sample samples[]) {
    for (size_t c = 0; c < bench_case_count; c++) {
        bool here = bench_cases[c].settings & 1u << setting;
        if (c >= CHASE && c <= CHASE_ON)
            continue;
        samples[c] = here ? time_case(&bench_cases[c]) : (struct bench_sample){0};
    }
    if (setting == BEST)
        time_chases(samples + CHASE);
    spex_set("");
    /* Subtracts the one execution in a thousand that is recorded. */
    for (size_t c = FIRST_PROBE; c < bench_case_count; c++)
        if (samples[c].ticks > 0 && strcmp(bench_cases[c].state, "skipped") == 0) {
            double recorded = samples[bench_case_find(bench_cases[c].type, "on")].ticks;
            samples[c].ticks = (samples[c].ticks - recorded / 1000) / 0.999;
        }
}
