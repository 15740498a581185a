/* SPDX-License-Identifier: MIT */
/* Threads that are not left in peace: sixteen at a time on a few CPUs, each moved to other CPUs
 * every millisecond, interrupted by signals at any moment from its first instruction to its last,
 * and replaced by a new one when it ends. What they do meanwhile is the program's. */
#ifndef SPEX_TEST_TORTURE_H
#define SPEX_TEST_TORTURE_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>

enum {
    TORTURE_THREADS = 16, /* at a time */
    TORTURE_LIVES = 4096, /* threads in a round */
    TORTURE_TURNS = 4096, /* of a thread, and of its signal handler */
    TORTURE_CPUS = 8,
    TORTURE_TYPES = 10,
    TORTURE_ROUND_MS = 1000,
    TORTURE_SKIP = 77,
};

/* Who makes a record: a thread, or the signal handler that interrupts it. */
enum torture_source { TORTURE_OWN, TORTURE_HANDLER, TORTURE_SOURCES };

/* One thread, from its start to its end. */
struct torture_life {
    uint32_t number;
    uint32_t thread_id; /* 0 before its first instruction */
    uint64_t seed;
    uint64_t turns[TORTURE_SOURCES];                   /* taken */
    uint64_t executed[TORTURE_SOURCES][TORTURE_TYPES]; /* the program's figures */
    bool ended;                                        /* or about to; under torture_moving */
};

/* What the program does. */
struct torture {
    /* In the thread, and in its handler: turn 1, 2, … */
    void (*turn)(struct torture_life *life, enum torture_source source, uint64_t turn);
    /* In the controlling thread, every millisecond. */
    void (*tick)(uint64_t *seed);
};

/* At once: the library's end would wait for the collector, and this may be the collector. */
static inline void torture_fail(const char *what) {
    printf("%s\n", what);
    fflush(stdout);
    _exit(1);
}

static inline uint64_t torture_mix(uint64_t x) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

/* 0 to below - 1. */
static inline uint64_t torture_random(uint64_t *seed, uint64_t below) {
    *seed += 0x9e3779b97f4a7c15u;
    return torture_mix(*seed) % below;
}

static inline uint64_t torture_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct torture torture;
static struct torture_life torture_lives[TORTURE_LIVES];
static uint32_t torture_lives_count; /* of this round */
static unsigned torture_cpus[TORTURE_CPUS];
static unsigned torture_cpus_count;
static bool torture_over;       /* the round is */
static sigset_t torture_signal; /* the one that interrupts, and only the threads that are here */
static timer_t torture_timer;
static pthread_mutex_t torture_moving = PTHREAD_MUTEX_INITIALIZER;
static __thread struct torture_life *torture_self;

/* Which of torture_cpus this is; ends the test when it is none of them. */
static inline unsigned torture_cpu(unsigned cpu) {
    unsigned c = 0;
    while (c < torture_cpus_count && torture_cpus[c] != cpu)
        c++;
    if (c == torture_cpus_count)
        torture_fail("a record of a CPU that no thread was on");
    return c;
}

static inline void torture_turn(enum torture_source source) {
    struct torture_life *life = torture_self;
    torture.turn(life, source, ++life->turns[source]);
}

static inline void torture_interrupted(int signal) {
    (void)signal;
    if (torture_self && torture_self->turns[TORTURE_HANDLER] < TORTURE_TURNS)
        torture_turn(TORTURE_HANDLER);
}

/* At the lowest priority, so that the controlling thread gets its turns on a CPU in time. */
static inline void *torture_live(void *arg) {
    struct torture_life *life = arg;
    setpriority(PRIO_PROCESS, 0, 19);
    spex_store_relaxed(&life->thread_id, (uint32_t)gettid());
    torture_self = life;
    pthread_sigmask(SIG_UNBLOCK, &torture_signal, NULL);
    uint64_t turns = 1 + torture_random(&life->seed, TORTURE_TURNS);
    while (life->turns[TORTURE_OWN] < turns && !spex_load_relaxed(&torture_over))
        torture_turn(TORTURE_OWN);
    pthread_mutex_lock(&torture_moving);
    life->ended = true;
    pthread_mutex_unlock(&torture_moving);
#ifdef __SANITIZE_THREAD__
    /* Its own state of a thread goes before the thread does: no handler must run after that. */
    pthread_sigmask(SIG_BLOCK, &torture_signal, NULL);
#endif
    return NULL;
}

/* A place for a thread and its successors. */
struct torture_place {
    pthread_t thread;
    struct torture_life *life;
};

static inline void torture_begin(struct torture_place *place, uint64_t *seed) {
    struct torture_life *life = &torture_lives[torture_lives_count];
    *life = (struct torture_life){.number = torture_lives_count++, .seed = *seed};
    torture_random(seed, 1);
    place->life = life;
    if (pthread_create(&place->thread, NULL, torture_live, life) != 0)
        torture_fail("no thread");
}

static inline bool torture_ended(const struct torture_life *life) {
    pthread_mutex_lock(&torture_moving);
    bool ended = life->ended;
    pthread_mutex_unlock(&torture_moving);
    return ended;
}

/* Looks, but does not wait: the others go on being disturbed. */
static inline void torture_replace(struct torture_place *place, uint64_t *seed) {
    if (torture_lives_count < TORTURE_LIVES && torture_ended(place->life) &&
        pthread_tryjoin_np(place->thread, NULL) == 0)
        torture_begin(place, seed);
}

/* To one CPU or two. With the lock held a thread that has not ended cannot end, and its id is its
 * own. */
static inline void torture_move(const struct torture_place *place, uint64_t *seed) {
    cpu_set_t to;
    CPU_ZERO(&to);
    CPU_SET(torture_cpus[torture_random(seed, torture_cpus_count)], &to);
    if (torture_random(seed, 4) == 0)
        CPU_SET(torture_cpus[torture_random(seed, torture_cpus_count)], &to);
    pthread_mutex_lock(&torture_moving);
    uint32_t thread_id = spex_load_relaxed(&place->life->thread_id);
    if (thread_id && !place->life->ended)
        sched_setaffinity((pid_t)thread_id, sizeof(to), &to);
    pthread_mutex_unlock(&torture_moving);
}

/* Every millisecond all are moved. */
static inline void torture_disturb(struct torture_place *places, bool moving, uint64_t *seed) {
    const struct timespec pause = {.tv_nsec = 100000};
    pthread_kill(places[torture_random(seed, TORTURE_THREADS)].thread, SIGUSR1);
    for (int p = 0; p < TORTURE_THREADS; p++) {
        torture_replace(&places[p], seed);
        if (moving)
            torture_move(&places[p], seed);
    }
    if (moving && torture.tick)
        torture.tick(seed);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL); /* for the threads to do their turns */
}

/* A signal for whichever thread is running, 10000 times a second; 0: no more. */
static inline void torture_interrupt(long interval_ns) {
    const struct itimerspec times = {{0, interval_ns}, {0, interval_ns}};
    if (timer_settime(torture_timer, 0, &times, NULL) != 0)
        torture_fail("no timer");
}

static inline void torture_round(uint64_t *seed) {
    struct torture_place places[TORTURE_THREADS];
    uint64_t end = torture_now_ms() + TORTURE_ROUND_MS, moved = 0, moves = 0, now;
    torture_lives_count = 0;
    spex_store_relaxed(&torture_over, false);
    for (int p = 0; p < TORTURE_THREADS; p++)
        torture_begin(&places[p], seed);
    torture_interrupt(100000);
    while ((now = torture_now_ms()) < end && torture_lives_count < TORTURE_LIVES) {
        torture_disturb(places, now != moved, seed);
        moves += now != moved;
        moved = now;
    }
    spex_store_relaxed(&torture_over, true);
    for (int p = 0; p < TORTURE_THREADS; p++)
        pthread_join(places[p].thread, NULL);
    torture_interrupt(0);
    printf("%u threads, all moved %llu times, ", torture_lives_count, (unsigned long long)moves);
}

/* Executions of this round, of every type. Threads have ended. */
static inline uint64_t torture_executed(void) {
    uint64_t executed = 0, handled = 0;
    for (uint32_t l = 0; l < torture_lives_count; l++) {
        for (int s = 0; s < TORTURE_SOURCES; s++)
            for (int t = 0; t < TORTURE_TYPES; t++)
                executed += torture_lives[l].executed[s][t];
        handled += torture_lives[l].turns[TORTURE_HANDLER];
    }
    printf("interrupted %llu times\n", (unsigned long long)handled);
    return executed;
}

static inline void torture_use_cpus(void) {
    cpu_set_t allowed, used;
    CPU_ZERO(&used);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        CPU_ZERO(&allowed);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && torture_cpus_count < TORTURE_CPUS; cpu++)
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_SET(cpu, &used);
            torture_cpus[torture_cpus_count++] = cpu;
        }
    if (torture_cpus_count < 2 || sched_setaffinity(0, sizeof(used), &used) != 0) {
        printf("SKIP: torture: needs two CPUs to move threads between\n");
        exit(TORTURE_SKIP);
    }
}

/* `--seconds N` and `--seed N`, in any order, after the program's own arguments. */
static inline void torture_begin_all(int argc, char **argv, int own, uint64_t *seconds,
                                     uint64_t *seed) {
    const struct sigaction action = {.sa_handler = torture_interrupted, .sa_flags = SA_RESTART};
    *seconds = 2;
    *seed = (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
    for (int a = own; a + 1 < argc; a += 2) {
        uint64_t value = strtoull(argv[a + 1], NULL, 10);
        if (strcmp(argv[a], "--seconds") == 0)
            *seconds = value;
        else if (strcmp(argv[a], "--seed") == 0)
            *seed = value;
        else
            torture_fail("an unknown option");
    }
    printf("seed %llu\n", (unsigned long long)*seed);
    torture_use_cpus();
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&torture_signal);
    sigaddset(&torture_signal, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &torture_signal, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    if (timer_create(CLOCK_MONOTONIC, &event, &torture_timer) != 0)
        torture_fail("no timer");
}

/* Sequence numbers that have been seen, one bit each. */
struct torture_seen {
    uint64_t bits[TORTURE_TURNS / 64 + 1];
};

static inline void torture_see(struct torture_seen *seen, uint64_t turn) {
    uint64_t bit = (uint64_t)1 << turn % 64;
    if (turn == 0 || turn > TORTURE_TURNS)
        torture_fail("a record that nobody made");
    if (seen->bits[turn / 64] & bit)
        torture_fail("a record twice");
    seen->bits[turn / 64] |= bit;
}

#endif
