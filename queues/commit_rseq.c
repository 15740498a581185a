/* SPDX-License-Identifier: MIT */
/* The reader of rings with restartable sequences. It copies records while producers may overwrite
 * them, and drops those that may have been overwritten afterwards (commit_rseq.h has the
 * protocol). */
#include "queues/commit_rseq.h"

#include <spex/atomic.h>

extern const unsigned int __rseq_size __attribute__((weak));

bool spex_rseq_available(void) {
    return &__rseq_offset != NULL && &__rseq_size != NULL && __rseq_size > 0;
}

/* The reader prefetches this many words ahead, because each line is in the cache of the CPU that
 * wrote it. */
enum { WORDS_A_LINE = SPEX_CACHE_LINE_BYTES / sizeof(uint64_t), WORDS_AHEAD = 32 * WORDS_A_LINE };

/* Each word is loaded with an acquire, so that the load of `reserve` behind the copy stays behind
 * it. */
static void words_copy(const uint64_t *from, uint64_t count, uint64_t *to) {
    for (uint64_t i = 0; i < count; i++) {
        if (i % WORDS_A_LINE == 0)
            __builtin_prefetch(from + i + WORDS_AHEAD);
        to[i] = spex_load_acquire(
            &from[i]); /* Y1 (X1 in commit_rseq_x86_64.h, X1 in commit_rseq_aarch64.h) */
    }
}

/* Copies records from … to - 1. Where they continue at the beginning of the ring, they are copied
 * in two parts. */
static void records_copy(const struct spex_ring *ring, uint64_t from, uint64_t to, uint64_t *out) {
    uint64_t words = ring->record_words;
    uint64_t first = from & ring->mask, count = to - from;
    uint64_t before_end = ring->mask + 1 - first;
    uint64_t part = count < before_end ? count : before_end;
    words_copy(ring->slots + first * words, part * words, out);
    words_copy(ring->slots, (count - part) * words, out + part * words);
}

/* The oldest record that no writer can have touched while `reserve` had this value. */
static uint64_t oldest_whole(const struct spex_ring *ring, uint64_t reserve) {
    uint64_t capacity = ring->mask + 1;
    return reserve > capacity ? reserve - capacity : 0;
}

static uint64_t maximum_of(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

#ifdef SPEX_RSEQ_TSAN
char spex_rseq_pushes;
#endif

/* Copies up to `max` of the records before `commit`. Advances `passed` over these records and over
 * those that writers have overwritten. */
static size_t read_part(const struct spex_ring *ring, uint64_t commit, uint64_t *out, size_t max) {
    uint64_t from = maximum_of(ring->consumer->passed,
                               oldest_whole(ring, spex_load_relaxed(&ring->producer->reserve)));
    if (from > commit)
        from = commit;
    uint64_t to = commit - from < max ? commit : from + max;
    records_copy(ring, from, to, out);
    uint64_t whole = oldest_whole(ring, spex_load_relaxed(&ring->producer->reserve));
    uint64_t lapped = whole > from ? (whole < to ? whole : to) - from : 0;
    size_t count = to - from - lapped;
    if (lapped)
        for (size_t w = 0; w < count * ring->record_words; w++)
            out[w] = out[lapped * ring->record_words + w];
    /* There is one consumer. Other threads load these two in the opposite order. */
    spex_store_relaxed(&ring->consumer->consumed, ring->consumer->consumed + count);
    spex_store_release(&ring->consumer->passed, to); /* P1 (P2 in ring.c) */
    return count;
}

/* Returns fewer than `max` only when it has passed all records that were committed when it began.
 * */
size_t spex_rseq_read(const struct spex_ring *ring, uint64_t *out, size_t max) {
    uint64_t commit = spex_load_acquire(
        &ring->producer->commit); /* Y2 (X2 in commit_rseq_x86_64.h, X2 in commit_rseq_aarch64.h) */
#ifdef SPEX_RSEQ_TSAN
    __tsan_acquire(&spex_rseq_pushes);
#endif
    size_t count = 0;
    while (count < max && ring->consumer->passed < commit)
        count += read_part(ring, commit, out + count * ring->record_words, max - count);
    return count;
}
