/* SPDX-License-Identifier: MIT */
/* Programs whose budget is hard to keep: executions in bursts, a thousand sites of which each
 * executes seldom, many threads, caches that never hold what is wanted, more threads than
 * processors. */
#define _GNU_SOURCE
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/probe.h>

#include "budget_random.h"
#include "budget_workload.h"
#include "sites.h"

static uint64_t *number_make(void) {
    uint64_t *number = malloc(sizeof(*number));
    if (!number)
        err(1, "malloc");
    *number = 1;
    return number;
}

static void *number_prepare(void) {
    return number_make();
}

/* 4 ms without a probe, then 1 ms in which one executes every 20 ns or so. */
static unsigned bursts_work(void *state) {
    enum { QUIET_STEPS = 400, PARTS = 8192, BURST = 64, STEPS = 16 };
    static unsigned part;
    uint64_t *number = state;
    if (part++ % PARTS < PARTS * 4 / 5)
        *number = site_work(*number, QUIET_STEPS);
    else
        for (int i = 0; i < BURST; i++) {
            SPEX_LAT_BEGIN(burst, 1);
            *number = site_work(*number, STEPS);
            SPEX_LAT_END(burst);
        }
    return 1;
}

/* A thousand sites, each of which executes some thousand times a second. */
static unsigned sites_work(void *state) {
    enum { EXECUTIONS = 8, STEPS = 200 };
    static uint64_t random = 1;
    for (int i = 0; i < EXECUTIONS; i++)
        site_execute(state, (unsigned)budget_random(&random, SITES), STEPS);
    return EXECUTIONS;
}

/* Loads that do not wait for each other, from memory that no cache holds. */
enum { WORDS = 1 << 24, LOADS = 4 };

struct memory {
    uint64_t random, sum;
    uint64_t words[WORDS];
};

static void *misses_prepare(void) {
    /* In huge pages, where there are some: which small pages a process gets changes how long its
     * loads take. */
    struct memory *memory = aligned_alloc((size_t)2 << 20, (sizeof(*memory) | ((2 << 20) - 1)) + 1);
    if (!memory)
        err(1, "aligned_alloc");
    madvise(memory, sizeof(*memory), MADV_HUGEPAGE);
    memory->random = 1;
    memory->sum = 0;
    for (size_t w = 0; w < WORDS; w++)
        memory->words[w] = w;
    return memory;
}

static unsigned misses_work(void *state) {
    enum { EXECUTIONS = 64 };
    struct memory *memory = state;
    for (int i = 0; i < EXECUTIONS; i++) {
        SPEX_LAT_BEGIN(misses, 1);
        for (int l = 0; l < LOADS; l++)
            memory->sum += memory->words[budget_random(&memory->random, WORDS)];
        SPEX_LAT_END(misses);
    }
    return EXECUTIONS;
}

/* Executions of one turn of a thread. */
static unsigned turn_work(uint64_t *number) {
    enum { EXECUTIONS = 16, STEPS = 60 };
    for (int i = 0; i < EXECUTIONS; i++) {
        SPEX_LAT_BEGIN(turn, 1);
        *number = site_work(*number, STEPS);
        SPEX_LAT_END(turn);
    }
    return EXECUTIONS;
}

/* Threads that work in turn, so that each record is another thread's. They are made by the first
 * one, and stay on its processor. */
enum { THREADS = 64 };

struct turns {
    bool begun;
    sem_t turn[THREADS];
};

struct turn {
    struct turns *turns;
    size_t thread;
};

static void *turns_thread(void *arg) {
    struct turn *own = arg;
    uint64_t number = 1;
    for (;;) {
        while (sem_wait(&own->turns->turn[own->thread]) != 0)
            ;
        turn_work(&number);
        sem_post(&own->turns->turn[(own->thread + 1) % THREADS]);
    }
    return NULL;
}

static void turns_begin(struct turns *turns) {
    static struct turn threads[THREADS];
    pthread_t thread;
    for (size_t t = 1; t < THREADS; t++) {
        threads[t] = (struct turn){turns, t};
        if (pthread_create(&thread, NULL, turns_thread, &threads[t]) != 0)
            errx(1, "cannot start a thread");
    }
    turns->begun = true;
}

static unsigned turns_work(void *state) {
    struct turns *turns = state;
    static uint64_t number = 1;
    if (!turns->begun)
        turns_begin(turns);
    sem_post(&turns->turn[1]);
    while (sem_wait(&turns->turn[0]) != 0)
        ;
    return THREADS * turn_work(&number);
}

static void *turns_prepare(void) {
    struct turns *turns = calloc(1, sizeof(*turns));
    if (!turns)
        err(1, "calloc");
    for (int t = 0; t < THREADS; t++)
        if (sem_init(&turns->turn[t], 0, 0) != 0)
            err(1, "sem_init");
    return turns;
}

/* More threads than processors. The first works for the bench, and counts what the others do. */
struct crowd {
    bool begun;
    uint64_t operations, counted;
};

static void *crowd_thread(void *arg) {
    struct crowd *crowd = arg;
    uint64_t number = 1;
    cpu_set_t all;
    memset(&all, 0xff, sizeof(all));
    sched_setaffinity(0, sizeof(all), &all);
    for (;;)
        __atomic_fetch_add(&crowd->operations, turn_work(&number), __ATOMIC_RELAXED);
    return NULL;
}

static void crowd_begin(struct crowd *crowd) {
    pthread_t thread;
    for (long t = 0; t < sysconf(_SC_NPROCESSORS_ONLN); t++)
        if (pthread_create(&thread, NULL, crowd_thread, crowd) != 0)
            errx(1, "cannot start a thread");
    crowd->begun = true;
}

static unsigned crowd_work(void *state) {
    struct crowd *crowd = state;
    static uint64_t number = 1;
    if (!crowd->begun)
        crowd_begin(crowd);
    unsigned own = turn_work(&number);
    uint64_t others = spex_load_relaxed(&crowd->operations), before = crowd->counted;
    crowd->counted = others;
    return own + (unsigned)(others - before);
}

static void *crowd_prepare(void) {
    struct crowd *crowd = calloc(1, sizeof(*crowd));
    if (!crowd)
        err(1, "calloc");
    return crowd;
}

const struct budget_workload budget_bursts = {
    .name = "bursts", .prepare = number_prepare, .work = bursts_work};
const struct budget_workload budget_sites = {
    .name = "sites", .prepare = number_prepare, .work = sites_work};
const struct budget_workload budget_misses = {
    .name = "misses", .prepare = misses_prepare, .work = misses_work};
const struct budget_workload budget_threads = {
    .name = "threads", .prepare = turns_prepare, .work = turns_work, .bound = true, .longer = 5};
const struct budget_workload budget_crowded = {
    .name = "crowded", .prepare = crowd_prepare, .work = crowd_work};
