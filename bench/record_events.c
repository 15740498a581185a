/* SPDX-License-Identifier: MIT */
/* The program that bench/record.py records: executes an empty span N times, in bursts that fit into
 * the tracer's memory, and tells how much CPU time that took; or RATE times a second on average, in
 * bursts. Compiled with LTTNG each execution is an event of LTTng-UST with the same contents;
 * otherwise a record of spex.
 *
 *     record_events N BURST [RATE] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "record_lttng.h"
#else
#include <spex/probe.h>
#include <spex/spex.h>
#endif
#include <spex/ticks.h>

/* A reader has this long between two bursts. */
enum { NAP_NS = 20000000 };

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#ifdef LTTNG
static void burst(unsigned long count) {
    for (unsigned long i = 0; i < count; i++) {
        uint64_t begin = spex_ticks();
        __asm__ volatile("" ::: "memory");
        lttng_ust_tracepoint(spex_bench, span, (uint32_t)(spex_ticks() - begin));
    }
}
#else
static void burst(unsigned long count) {
    for (unsigned long i = 0; i < count; i++) {
        LAT_PROBE_BEGIN(1, 1);
        __asm__ volatile("" ::: "memory");
        LAT_PROBE_END(1);
    }
}
#endif

/* Waits a while, or until `made` executions are due since `begin`. */
static void wait_after(unsigned long made, double rate, uint64_t begin_ns) {
    const struct timespec nap = {.tv_nsec = NAP_NS};
    if (!(rate > 0)) {
        nanosleep(&nap, NULL);
        return;
    }
    uint64_t due = begin_ns + (uint64_t)((double)made / rate * 1e9);
    const struct timespec until = {.tv_sec = (time_t)(due / 1000000000u),
                                   .tv_nsec = (long)(due % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

int main(int argc, char **argv) {
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    unsigned long most = argc > 2 ? strtoul(argv[2], NULL, 10) : count;
    double rate = argc > 3 ? strtod(argv[3], NULL) : 0;
    uint64_t in_bursts = 0;
#ifndef LTTNG
    if (spex_start(NULL) != 0)
        return 1;
#endif
    uint64_t process = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
             thread = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    for (unsigned long made = 0; made < count; made += most) {
        uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        burst(count - made < most ? count - made : most);
        in_bursts += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
        wait_after(made + most, rate, start);
    }
    uint64_t elapsed = clock_ns(CLOCK_MONOTONIC) - start;
    thread = clock_ns(CLOCK_THREAD_CPUTIME_ID) - thread;
#ifndef LTTNG
    spex_stop();
#endif
    process = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - process;
    printf("{\"events\": %lu, \"bursts_ns\": %" PRIu64 ", \"elapsed_ns\": %" PRIu64
           ", \"others_ns\": %" PRIu64 "}\n",
           count, in_bursts, elapsed, process > thread ? process - thread : 0);
    return 0;
}
