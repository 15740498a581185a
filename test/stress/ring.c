/* SPDX-License-Identifier: MIT */
/* A ring lapped by its writers while it is read: no torn record, none twice, each writer's in its
 * order, and exact accounts. With "signals" every writer is also interrupted, often in mid-push, by
 * a signal handler that pushes into the same ring.
 *
 *     ring CAPACITY WRITERS PUSHES [signals]
 *
 * Built with ThreadSanitizer it also shows memory orders that are too weak, as far as its threads
 * happen to meet; ring_orders.c makes them meet. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>

#include "queues/commit_atomic.h"

#define WRITERS_MAX 64

/* Every word of a record tells which record it belongs to. */
#define SOURCE_SHIFT 48
#define RECORD_WORDS SPEX_RECORD_WORDS_MAX

/* One in a thread and one in its signal handler: numbers its records 1, 2, … */
struct source {
    uint64_t id;
    uint64_t pushed;
    uint64_t last_read;
};

struct writer {
    pthread_t thread;
    struct source own;
    struct source handler;
    uint64_t interrupted; /* times the handler has run */
    bool done;
};

static struct spex_ring_producer producer;
static struct spex_ring_consumer consumer;
static struct spex_ring ring;
static struct writer writers[WRITERS_MAX];
static unsigned writer_count;
static uint64_t pushes;
static pthread_barrier_t all_ready; /* a signal handler needs `self` */
static pthread_barrier_t all_done;
static unsigned finished;

static __thread struct writer *self;

static uint64_t derived(uint64_t first, unsigned word) {
    return word == 0 ? first : (first ^ word) * 0x9e3779b97f4a7c15u;
}

static void push(struct source *source) {
    uint64_t words[RECORD_WORDS];
    uint64_t first = source->id << SOURCE_SHIFT | (source->pushed + 1);
    for (unsigned w = 0; w < RECORD_WORDS; w++)
        words[w] = derived(first, w);
    spex_atomic_push(&ring, words);
    spex_store_relaxed(&source->pushed, source->pushed + 1);
}

static void interrupted(int signal) {
    (void)signal;
    for (int i = 0; i < 3; i++)
        push(&self->handler);
    spex_fetch_add_release(&self->interrupted, 1); /* I1 (I2) */
}

static void *writer_run(void *arg) {
    self = arg;
    pthread_barrier_wait(&all_ready);
    for (uint64_t i = 0; i < pushes; i++)
        push(&self->own);
    spex_store_release(&self->done, true); /* D1 (D2) */
    pthread_barrier_wait(&all_done);       /* a thread that is sent signals must be there */
    spex_fetch_add_release(&finished, 1);  /* F1 (F2) */
    return NULL;
}

/* Sends every writer the next signal when it has handled the last, until all have done their
 * pushes. */
static void *interrupter_run(void *arg) {
    uint64_t sent[WRITERS_MAX] = {0};
    unsigned left = writer_count;
    (void)arg;
    pthread_barrier_wait(&all_ready);
    while (left > 0) {
        left = 0;
        for (unsigned w = 0; w < writer_count; w++) {
            if (spex_load_acquire(&writers[w].done)) /* D2 (D1) */
                continue;
            left++;
            if (spex_load_acquire(&writers[w].interrupted) < sent[w]) /* I2 (I1) */
                continue;
            pthread_kill(writers[w].thread, SIGUSR1);
            sent[w]++;
        }
        sched_yield();
    }
    pthread_barrier_wait(&all_done);
    return NULL;
}

static void fail(const char *what, const uint64_t *words) {
    printf("%s:", what);
    for (unsigned w = 0; w < RECORD_WORDS; w++)
        printf(" %016llx", (unsigned long long)words[w]);
    printf("\n");
    exit(1);
}

static void check_record(const uint64_t *words) {
    uint64_t id = words[0] >> SOURCE_SHIFT;
    uint64_t number = words[0] & (((uint64_t)1 << SOURCE_SHIFT) - 1);
    for (unsigned w = 1; w < RECORD_WORDS; w++)
        if (words[w] != derived(words[0], w))
            fail("torn record", words);
    if (id >= 2 * writer_count)
        fail("record of no writer", words);
    struct source *source = id % 2 ? &writers[id / 2].handler : &writers[id / 2].own;
    if (number <= source->last_read)
        fail("record twice or out of order", words);
    source->last_read = number;
}

static uint64_t read_once(uint64_t *out, size_t max) {
    size_t count = spex_ring_read(&ring, out, max);
    for (size_t i = 0; i < count; i++)
        check_record(out + i * RECORD_WORDS);
    return count;
}

static uint64_t read_all(size_t capacity) {
    uint64_t *out = calloc(capacity + 1, RECORD_WORDS * sizeof(*out));
    uint64_t consumed = 0, visit = 0;
    if (!out)
        abort();
    while (spex_load_acquire(&finished) < writer_count) /* F2 (F1) */
        consumed += read_once(out, visit++ % (capacity + 2));
    while (!spex_ring_drained(&ring))
        consumed += read_once(out, capacity);
    free(out);
    return consumed;
}

static void check_accounts(uint64_t consumed) {
    struct spex_ring_counts counts = spex_ring_count(&ring);
    uint64_t produced = 0;
    for (unsigned w = 0; w < writer_count; w++) {
        const struct writer *writer = &writers[w];
        if (writer->own.pushed != pushes || writer->own.last_read > writer->own.pushed ||
            writer->handler.last_read > writer->handler.pushed) {
            printf("a record that nobody wrote\n");
            exit(1);
        }
        produced += writer->own.pushed + writer->handler.pushed;
    }
    printf("%llu produced, %llu consumed, %llu lost, %llu abandoned\n",
           (unsigned long long)counts.produced, (unsigned long long)counts.consumed,
           (unsigned long long)counts.lost, (unsigned long long)producer.abandoned);
    if (counts.produced != produced || counts.consumed != consumed ||
        counts.lost != produced - consumed || counts.pending != 0) {
        printf("wrong: %llu were pushed, %llu read\n", (unsigned long long)produced,
               (unsigned long long)consumed);
        exit(1);
    }
}

/* The newest record stays: with nobody writing, the next ones pushed are read to the last. */
static void check_at_rest(size_t capacity) {
    uint64_t *out = calloc(capacity, RECORD_WORDS * sizeof(*out));
    struct source *source = &writers[0].own;
    if (!out)
        abort();
    for (size_t i = 0; i < capacity; i++)
        push(source);
    if (read_once(out, capacity) != capacity || source->last_read != source->pushed) {
        printf("the ring does not hold %zu records any more\n", capacity);
        exit(1);
    }
    free(out);
}

static void thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
    if (pthread_create(thread, NULL, run, arg) != 0)
        abort();
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    size_t capacity = strtoul(argv[1], NULL, 10);
    writer_count = (unsigned)strtoul(argv[2], NULL, 10);
    pushes = strtoul(argv[3], NULL, 10);
    bool signals = argc > 4 && strcmp(argv[4], "signals") == 0;
    ring = (struct spex_ring){
        .producer = &producer,
        .consumer = &consumer,
        .slots = calloc(1, spex_ring_bytes(SPEX_COMMIT_ATOMIC, RECORD_WORDS, capacity)),
        .mask = capacity - 1,
        .record_words = RECORD_WORDS,
        .commit = SPEX_COMMIT_ATOMIC,
    };
    if (!ring.slots || writer_count > WRITERS_MAX)
        return 2;
    pthread_barrier_init(&all_ready, NULL, writer_count + signals);
    pthread_barrier_init(&all_done, NULL, writer_count + signals);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = interrupted, .sa_flags = SA_RESTART},
              NULL);

    for (unsigned w = 0; w < writer_count; w++) {
        writers[w].own.id = 2 * w;
        writers[w].handler.id = 2 * w + 1;
        thread_start(&writers[w].thread, writer_run, &writers[w]);
    }
    pthread_t interrupter;
    if (signals)
        thread_start(&interrupter, interrupter_run, NULL);
    uint64_t consumed = read_all(capacity);
    for (unsigned w = 0; w < writer_count; w++)
        pthread_join(writers[w].thread, NULL);
    if (signals)
        pthread_join(interrupter, NULL);
    check_accounts(consumed);
    check_at_rest(capacity);
    free(ring.slots);
    return 0;
}
