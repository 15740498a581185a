/* SPDX-License-Identifier: MIT */
/* Latencies are those of loads of which each needs the one before, in an order that no prefetcher
 * guesses: of lines that the first cache has no room for, and of lines that were flushed. How fast
 * caches are filled follows: a core has about ten reads of lines under way at once. */
#define _GNU_SOURCE
#include "rate/caches.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/service_thread.h"

enum { LINE = 64, LINES = 2048, FLUSHED = 512, TRIES = 3 };

/* A core's reads of lines that are under way at once: 10 to 16 in today's. */
#define READS 10.0

/* Where the system does not tell sizes: bytes of the first, second and last cache. */
static const double sizes_usual[3] = {32e3, 1e6, 16e6};

/* An execution has about 16 instructions; a thread's half of a window of 256 holds 128. */
#define WINDOW (16 / 128.0)

/* Latencies before they are measured; that of memory also where no line can be flushed. */
#define SECOND_USUAL 5e-9
#define MEMORY_USUAL 100e-9

struct line {
    struct line *next;
    char rest[LINE - sizeof(struct line *)];
};

/* False: there is no such instruction, or the program may not use it. */
static bool line_flush(const void *line) {
#if defined(__x86_64__)
    __asm__ volatile("clflush %0" : : "m"(*(const char *)line) : "memory");
    return true;
#else
    (void)line;
    return false;
#endif
}

/* Makes one ring of the lines, in which the next one is far away: steps of a number that has no
 * factor in common with theirs, which is a power of 2. */
static void ring_make(struct line *lines, size_t count) {
    size_t step = count / 2 + count / 8 + 1;
    for (size_t at = 0, n = 0; n < count; n++, at = (at + step) % count)
        lines[at].next = &lines[(at + step) % count];
}

/* Seconds a load of `count` loads. */
static double chase(const struct line *from, size_t count) {
    uint64_t begin = spex_clock_ns(CLOCK_MONOTONIC);
    for (size_t n = 0; n < count; n++)
        from = *(struct line *const volatile *)&from->next;
    return (double)(spex_clock_ns(CLOCK_MONOTONIC) - begin) / 1e9 / (double)count;
}

/* The least of some tries: others disturb. */
static double least_latency(struct line *lines, size_t count, bool flush) {
    double least = INFINITY;
    for (int t = 0; t < TRIES; t++) {
        bool flushed = flush;
        for (size_t n = 0; n < count && flushed; n++)
            flushed = line_flush(&lines[n]);
        if (flush && !flushed)
            return MEMORY_USUAL;
        least = fmin(least, chase(lines, count));
    }
    return least;
}

static double size_of(int name, double usual) {
    long size = name ? sysconf(name) : 0;
    return size > 0 ? (double)size : usual;
}

static void keep_set(struct spex_rate_caches *caches) {
#ifdef _SC_LEVEL1_DCACHE_SIZE
    static const int names[3] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                 _SC_LEVEL3_CACHE_SIZE};
#else
    static const int names[3] = {0, 0, 0};
#endif
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    for (int c = 0; c < 3; c++)
        caches->keep[c] = size_of(names[c], sizes_usual[c]) / LINE * caches->latency[c] / READS;
    /* All cores fill the last one. */
    caches->keep[2] = fmax(caches->keep[2] / (double)(cpus > 1 ? cpus : 1), caches->keep[1]);
}

/* By the latencies of the second cache and of memory; that of the last cache lies between. */
static struct spex_rate_caches caches_of(double second, double memory) {
    double most = fmax(memory, second);
    struct spex_rate_caches caches = {.latency = {second, sqrt(second * most), most},
                                      .window = WINDOW};
    keep_set(&caches);
    return caches;
}

struct spex_rate_caches spex_caches_usual(void) {
    return caches_of(SECOND_USUAL, MEMORY_USUAL);
}

static struct spex_rate_caches measure(void) {
    struct line *lines = spex_pages_take(LINES * sizeof(*lines));
    double second = SECOND_USUAL, memory = MEMORY_USUAL;
    if (lines) {
        ring_make(lines, LINES);
        second = least_latency(lines, LINES, false);
        ring_make(lines, FLUSHED);
        memory = least_latency(lines, FLUSHED, true);
        spex_pages_give_back(lines, LINES * sizeof(*lines));
    }
    return caches_of(second, memory);
}

const struct spex_rate_caches *spex_caches(void) {
    static struct spex_rate_caches caches;
    if (!(caches.window > 0))
        caches = measure();
    return &caches;
}
