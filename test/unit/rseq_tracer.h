/* SPDX-License-Identifier: MIT */
/* A ring in memory that a tracer and its child share. The tracer single-steps the child (ptrace)
 * through pushes and reads, and acts as a writer beside it, one store at a time. */
#ifndef SPEX_TEST_RSEQ_TRACER_H
#define SPEX_TEST_RSEQ_TRACER_H

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "../check.h"
#include "ring/rings.h"

enum { CAPACITY = 4, WORDS_MAX = SPEX_RECORD_WORDS_MAX, BATCH = CAPACITY + 1 };

enum operation { PUSH2, PUSH3, PUSH_N, READ };

/* Of the tracer and its child. */
struct shared {
    struct spex_ring_producer producer;
    struct spex_ring_consumer consumer;
    uint64_t slots[CAPACITY * WORDS_MAX];
    struct spex_ring ring;
    struct spex_rseq_set set;
    enum operation operation;
    uint64_t number;  /* of the record to push */
    uint64_t handler; /* number of the record that the signal handler pushes */
    uint64_t result;
    uint64_t handled; /* what the handler's push has returned */
    uint64_t out[2 * BATCH * WORDS_MAX];
};

static struct shared *shared;
static unsigned cpu;

/* Why sequences cannot be stepped through here, or NULL. */
static const char *unsteppable;

static inline uint64_t word_of(uint64_t number, uint32_t word) {
    return word == 0 ? number : mix(number * WORDS_MAX + word);
}

/* An empty ring of the one CPU that this process and its children run on. */
static inline void ring_setup(uint32_t words) {
    *shared = (struct shared){.ring = {.producer = &shared->producer,
                                       .consumer = &shared->consumer,
                                       .slots = shared->slots,
                                       .mask = CAPACITY - 1,
                                       .record_words = words,
                                       .commit = SPEX_COMMIT_RSEQ}};
    uint64_t ring_bytes = spex_ring_bytes(SPEX_COMMIT_RSEQ, words, CAPACITY);
    uint64_t producers = (uintptr_t)&shared->producer - (uint64_t)cpu * SPEX_RSEQ_PRODUCER_BYTES;
    uint64_t slots = (uintptr_t)shared->slots - cpu * ring_bytes;
    shared->set = (struct spex_rseq_set){.producers = (char *)(uintptr_t)producers,
                                         .slots = (char *)(uintptr_t)slots,
                                         .ring_bytes = ring_bytes,
                                         .mask = CAPACITY - 1,
                                         .slot_bytes = words * sizeof(uint64_t),
                                         .cpus = cpu + 1};
}

/* The writer of commit_rseq.h, one store at a time. */

struct writer {
    uint64_t number; /* of the record that it writes */
    uint32_t stores; /* done of the push */
};

static inline uint32_t stores_of_a_push(void) {
    return shared->ring.record_words + 2;
}

static inline void writer_store(struct writer *writer) {
    struct spex_ring_producer *producer = &shared->producer;
    uint32_t words = shared->ring.record_words, step = writer->stores++;
    uint64_t *slot = &shared->slots[(producer->commit & shared->ring.mask) * words];
    if (step == 0)
        __atomic_store_n(&producer->reserve, producer->commit + 1, __ATOMIC_SEQ_CST);
    else if (step <= words)
        __atomic_store_n(&slot[step - 1], word_of(writer->number, step - 1), __ATOMIC_SEQ_CST);
    else
        __atomic_store_n(&producer->commit, producer->commit + 1, __ATOMIC_SEQ_CST);
    if (writer->stores == stores_of_a_push())
        *writer = (struct writer){.number = writer->number + 1};
}

static inline void writer_push(struct writer *writer, uint64_t pushes) {
    for (uint64_t s = 0; s < pushes * stores_of_a_push(); s++)
        writer_store(writer);
}

static inline void expect_whole(const uint64_t *words, uint64_t number) {
    for (uint32_t w = 0; w < shared->ring.record_words; w++)
        assert_int_equal(words[w], word_of(number, w));
}

/* Reads all; they must be `count` records numbered from `first` on. */
static inline void expect_read(uint64_t first, uint64_t count) {
    uint64_t out[BATCH * WORDS_MAX];
    assert_int_equal(spex_ring_read(&shared->ring, out, BATCH), count);
    for (uint64_t i = 0; i < count; i++)
        expect_whole(out + i * shared->ring.record_words, first + i);
    assert_true(spex_ring_drained(&shared->ring));
}

static inline void expect_counts(uint64_t produced, uint64_t consumed, uint64_t lost) {
    struct spex_ring_counts counts = spex_ring_count(&shared->ring);
    assert_int_equal(counts.produced, produced);
    assert_int_equal(counts.consumed, consumed);
    assert_int_equal(counts.lost, lost);
    assert_int_equal(counts.pending, produced - consumed - lost);
}

/* The child. */

static inline uint64_t push(enum operation operation, uint64_t number) {
    uint64_t words[WORDS_MAX];
    uint32_t count = shared->ring.record_words;
    for (uint32_t w = 0; w < count; w++)
        words[w] = word_of(number, w);
    if (operation == PUSH2)
        return spex_rseq_push2(&shared->set, words[0], words[1]);
    if (operation == PUSH3)
        return spex_rseq_push3(&shared->set, words[0], words[1], words[2]);
    return spex_rseq_push_n(&shared->set, words[0], words[1], words + 2, count - 2);
}

static inline void handle(int signal) {
    (void)signal;
    shared->handled = push(shared->operation, shared->handler);
}

/* Stops before every operation, for the tracer to prepare it. */
static inline void operate_for_ever(void) {
    for (;;) {
        raise(SIGSTOP);
        if (shared->operation == READ)
            shared->result = spex_ring_read(&shared->ring, shared->out, BATCH);
        else
            shared->result = push(shared->operation, shared->number);
    }
}

static inline pid_t child_start(void (*run)(void)) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves it stopped */
    signal(SIGUSR1, handle);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
        run();
    _exit(1);
}

static inline void child_end(pid_t child) {
    int status;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

/* The tracer. */

/* The signal that has stopped the child; 0: it has ended, well. */
static inline int stop_signal(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSTOPPED(status))
        return WSTOPSIG(status);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return 0;
}

/* False when the child is about to begin its next operation. */
static inline bool step(pid_t child) {
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
    int signal = stop_signal(child);
    assert_true(signal == SIGTRAP || signal == SIGSTOP);
    return signal == SIGTRAP;
}

/* To the beginning of the next operation, sending a signal first (0: none). */
static inline void go_on(pid_t child, int signal) {
    assert_int_equal(ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)signal), 0);
    assert_int_equal(stop_signal(child), SIGSTOP);
}

static inline void need_steps(void) {
    if (!unsteppable)
        return;
    printf("SKIP: rseq_steps: %s\n", unsteppable);
    skip();
}

enum { STEPS_OF_A_READ_MAX = 100000 };

static inline const char *why_unsteppable(void) {
#ifdef __SANITIZE_THREAD__
    return "ThreadSanitizer sees no assembly, and puts signals off";
#endif
    if (!spex_rseq_available())
        return "libc has registered no restartable sequences";
    int now = sched_getcpu();
    cpu_set_t one;
    cpu = now < 0 ? 0 : (unsigned)now;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (now < 0 || sched_setaffinity(0, sizeof(one), &one) != 0)
        return "the affinity of this process cannot be set";
    pid_t child = fork();
    if (child == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0);
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return "a process may not be traced here (ptrace)";
    return NULL;
}

static inline int stepping_begin(void **state) {
    (void)state;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return -1;
    unsteppable = why_unsteppable();
    return 0;
}

static inline int stepping_end(void **state) {
    (void)state;
    return munmap(shared, sizeof(*shared));
}

#endif
