/* SPDX-License-Identifier: MIT */
/* Commits by restartable sequence (rseq(2)): the kernel restarts a push whose thread was preempted,
 * migrated or interrupted by a signal before the push was complete. So the pushes of one CPU happen
 * one after the other, and plain stores are enough.
 *
 *   push, on the ring's own CPU:             read, anywhere:
 *
 *     begin ◄──── restart ───┐                 c = commit               Y2
 *     h = commit             │                 copy slots passed … c-1
 *     reserve = h + 1     X1 │                 r = reserve              Y1
 *     slot[h] = words        │                 drop those below r - capacity
 *     commit = h + 1      X2 ┘                 passed = c
 *     end
 *
 * Orders, each with its partner:
 *   X1 reserve before words   ↔ Y1 reserve after words: a reader that has copied a word of record
 *                               h sees reserve > h, and drops the record that was there before
 *   X2 words before commit    ↔ Y2 commit before words: a reader that sees commit > h copies all
 *                               words of record h, or of a later one, which Y1 finds out
 *
 * A push that is restarted leaves reserve one ahead of commit: its slot's old record may be
 * overwritten in part, and is lost; the record that will be there counts once, when it commits.
 *
 * Behind the sequence a push asks the processor for the line of the next slot. Between two records
 * the program fills the caches with its own data, and a store to a line that is in none of them
 * holds up the program's next atomic instruction or system call (bench/cold.c measures it). */
#ifndef SPEX_QUEUES_COMMIT_RSEQ_H
#define SPEX_QUEUES_COMMIT_RSEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queues/ring.h"

/* The rings of one type, one per CPU. */
struct spex_rseq_set {
    /* CPU c: its struct spex_ring_producer at c × SPEX_RSEQ_PRODUCER_BYTES, its slots at
     * c × ring_bytes. */
    char *producers;
    char *slots;
    uint64_t ring_bytes;
    /* The capacity - 1. */
    uint64_t mask;
    /* Bytes of one record. */
    uint64_t slot_bytes;
    /* Number of rings; 0: every push fails. */
    uint64_t cpus;
};

/* Two cache lines, because processors prefetch lines in pairs. */
#define SPEX_RSEQ_PRODUCER_SHIFT 7
#define SPEX_RSEQ_PRODUCER_BYTES (1 << SPEX_RSEQ_PRODUCER_SHIFT)

/* A push that is restarted this often in a row gives up: a debugger steps through the sequence. */
#define SPEX_RSEQ_ATTEMPTS 64

/* Whether libc has registered this thread, and so all threads, for restartable sequences. */
bool spex_rseq_available(void);

/* The offset of the calling thread's struct rseq (<linux/rseq.h>: cpu_id at 4, rseq_cs at 8) from
 * the thread pointer. */
#ifndef spex_rseq_area
extern const ptrdiff_t __rseq_offset __attribute__((weak));
#define spex_rseq_area() (__rseq_offset)
#endif

/* The assembly operand that is the offset of a member in struct spex_rseq_set. */
#define SPEX_RSEQ_AT_(member) [member] "i"(offsetof(struct spex_rseq_set, member))

#if defined(__x86_64__)
#include "queues/commit_rseq_x86_64.h"
#elif defined(__aarch64__)
#include "queues/commit_rseq_aarch64.h"
#else
#error "spex: this version supports x86-64 and aarch64 only"
#endif

/* The operands of a push, and how often it may be restarted. */
#define SPEX_RSEQ_LOCALS_                                                                          \
    uint64_t commit = 0, ring, slot, index, word __attribute__((unused));                          \
    uint32_t attempts = SPEX_RSEQ_ATTEMPTS

/* Each push writes one record of 2, 3, or 2 + count words into the ring of the CPU that it runs on.
 * Any thread, signal handlers. Returns how many records that ring has had, this one included; 0
 * when nothing was written: the thread has no restartable sequences (made without libc), its CPU
 * has no ring, or it never got to the end. */

static inline uint64_t spex_rseq_push2(const struct spex_rseq_set *set, uint64_t w0, uint64_t w1) {
    SPEX_RSEQ_LOCALS_;
    if (!set->cpus)
        return 0;
    __asm__ volatile(SPEX_RSEQ_PUSH_(SPEX_RSEQ_TWO_)
                     : SPEX_RSEQ_OUTPUTS_:SPEX_RSEQ_INPUTS_
                     : "memory", "cc");
    return commit;
}

static inline uint64_t spex_rseq_push3(const struct spex_rseq_set *set, uint64_t w0, uint64_t w1,
                                       uint64_t w2) {
    SPEX_RSEQ_LOCALS_;
    if (!set->cpus)
        return 0;
    __asm__ volatile(SPEX_RSEQ_PUSH_(SPEX_RSEQ_TWO_ SPEX_RSEQ_THIRD_)
                     : SPEX_RSEQ_OUTPUTS_
                     : SPEX_RSEQ_INPUTS_, [w2] "r"(w2)
                     : "memory", "cc");
    return commit;
}

static inline uint64_t spex_rseq_push_n(const struct spex_rseq_set *set, uint64_t w0, uint64_t w1,
                                        const uint64_t *rest, uint64_t count) {
    SPEX_RSEQ_LOCALS_;
    if (!set->cpus)
        return 0;
    __asm__ volatile(SPEX_RSEQ_PUSH_(SPEX_RSEQ_TWO_ SPEX_RSEQ_REST_)
                     : SPEX_RSEQ_OUTPUTS_ SPEX_RSEQ_REST_OUTPUTS_
                     : SPEX_RSEQ_INPUTS_, [rest] "r"(rest), [count] "r"(count)
                     : "memory", "cc");
    return commit;
}

/* ThreadSanitizer does not see the accesses in the assembly. Before a push this tells it that what
 * the thread has done so far comes before what the reader does with the record. Without
 * ThreadSanitizer it does nothing. */
#if defined(__SANITIZE_THREAD__)
#define SPEX_RSEQ_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SPEX_RSEQ_TSAN 1
#endif
#endif
#ifdef SPEX_RSEQ_TSAN
#include <sanitizer/tsan_interface.h>
extern char spex_rseq_pushes;
static inline void spex_rseq_announce(void) {
    __tsan_release(&spex_rseq_pushes);
}
#else
static inline void spex_rseq_announce(void) {
}
#endif

/* spex_ring_read for this way. */
size_t spex_rseq_read(const struct spex_ring *ring, uint64_t *out, size_t max);

#endif
