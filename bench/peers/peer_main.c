/* SPDX-License-Identifier: MIT */
/* What the programs of all peers share: they execute bursts as they are told, and time them.
 *
 *     PROGRAM CASE
 *
 * prints "ready", or "missing: REASON" and ends with status 77. Then each line "PAIRS NAP" of the
 * standard input is a burst of so many pairs, and a nap of so many ms after it. The answer is a
 * line; before the burst a quarter as many pairs are executed that do not count:
 *
 *     ticks of the burst; of the same without pairs; a pass of the reference (calm.h) before or
 *     after, whichever took longer; ns of the burst; ns of CPU time that its thread took for it;
 *     and that the process's other threads took until the nap had ended
 *
 * The program ends with its input. */
#define _GNU_SOURCE
#include "peer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <spex/ticks.h>

#include "calm.h"

enum { NOT_MEASURED = 77, NS_OF_MS = 1000000, WARM_SHARE = 4 };

PEER_LOOP(empty_loop, (void)i; PEER_WORK();)

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The two clocks are read one after the other, so that a difference of this may be below 0. */
static int64_t others_ns(void) {
    uint64_t thread = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return (int64_t)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - thread);
}

static uint64_t ticks_of(void (*loop)(unsigned long), unsigned long pairs) {
    uint64_t begin = spex_ticks();
    loop(pairs);
    return spex_ticks() - begin;
}

static void burst(const struct peer_case *measured, unsigned long pairs, unsigned nap_ms) {
    const struct timespec nap = {.tv_sec = nap_ms / 1000,
                                 .tv_nsec = (long)(nap_ms % 1000) * NS_OF_MS};
    int64_t others = others_ns();
    double before = bench_reference();
    uint64_t empty = ticks_of(measured->empty ? measured->empty : empty_loop, pairs);
    /* What others have put out of the caches meanwhile is not timed. */
    measured->pairs(pairs / WARM_SHARE);
    uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), begin_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t ticks = ticks_of(measured->pairs, pairs);
    uint64_t ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
    cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    double reference = fmax(before, bench_reference());
    if (nap_ms > 0)
        nanosleep(&nap, NULL);
    printf("%" PRIu64 " %" PRIu64 " %.4f %" PRIu64 " %" PRIu64 " %" PRId64 "\n", ticks, empty,
           reference, ns, cpu_ns, others_ns() - others);
    (void)fflush(stdout);
}

static const struct peer_case *case_named(const char *name) {
    const struct peer_case *found = peer_cases;
    while (found->name && strcmp(found->name, name) != 0)
        found++;
    return found->name ? found : NULL;
}

int main(int argc, char **argv) {
    const struct peer_case *measured = argc == 2 ? case_named(argv[1]) : NULL;
    unsigned long pairs = 0;
    unsigned nap_ms = 0;
    if (!measured) {
        (void)fprintf(stderr, "usage: %s CASE\n", argv[0]);
        return 2;
    }
    const char *missing = measured->start ? measured->start() : NULL;
    if (missing) {
        printf("missing: %s\n", missing);
        return NOT_MEASURED;
    }
    puts("ready");
    (void)fflush(stdout);
    /* The numbers come from bench/peers/run, not from a person. */
    while (scanf("%lu %u", &pairs, &nap_ms) == 2) /* NOLINT(cert-err34-c) */
        burst(measured, pairs, nap_ms);
    if (measured->stop)
        measured->stop();
    return 0;
}
