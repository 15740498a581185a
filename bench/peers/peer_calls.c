/* SPDX-License-Identifier: MIT */
/* What programs call where they have no probes: a clock, their usage, or a counter, read at the
 * begin and at the end. Both are written to an array that nobody reads. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

enum { KEPT = 4096 };

static struct { uint64_t begin, end; } kept[KEPT];

static int counter = -1;

static inline uint64_t clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t faults_used(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_minflt;
}

static inline uint64_t faults_counted(void) {
    uint64_t value = 0;
    return read(counter, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

#define CALLS(function)                                                                            \
    kept[i % KEPT].begin = function();                                                             \
    PEER_WORK();                                                                                   \
    kept[i % KEPT].end = function();

PEER_LOOP(clock_pairs, CALLS(clock_now))
PEER_LOOP(usage_pairs, CALLS(faults_used))
PEER_LOOP(counter_pairs, CALLS(faults_counted))

static const char *counter_start(void) {
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof(attr),
                                   .config = PERF_COUNT_SW_PAGE_FAULTS,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    counter = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return counter < 0 ? strerror(errno) : NULL;
}

const struct peer_case peer_cases[] = {
    {.name = "clock_gettime", .pairs = clock_pairs},
    {.name = "getrusage", .pairs = usage_pairs},
    {.name = "perf_event", .pairs = counter_pairs, .start = counter_start},
    {.name = NULL},
};
