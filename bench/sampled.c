/* SPDX-License-Identifier: MIT */
/* The program of sampled.py: an execution that takes always as long, timed by a probe and by the
 * program itself, and memory that the program goes through between two of them.
 *
 *     sampled EXECUTIONS KILOBYTES
 *
 * Prints the median of the program's own times of executions, in ticks, and the ticks of a second.
 * The clock is read within the probe, so what is between the two is the probe's alone. */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <spex/probe.h>
#include <spex/spex.h>

enum { LINE = 64, STEPS = 100, EXECUTIONS_MAX = 10000000 };

static volatile uint64_t sum;

static int order_ticks(const void *left, const void *right) {
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;
    return (one > other) - (one < other);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t execute(void) {
    SPEX_LAT_BEGIN(step, 1);
    uint64_t begin = spex_ticks();
    for (volatile int step = 0; step < STEPS; step++)
        continue;
    uint64_t ticks = spex_ticks() - begin;
    SPEX_LAT_END(step);
    return ticks;
}

int main(int argc, char **argv) {
    size_t executions = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) << 10 : 0;
    if (!executions || executions > EXECUTIONS_MAX)
        errx(2, "usage: sampled EXECUTIONS KILOBYTES");
    char *memory = malloc(bytes + 1);
    uint64_t *times = calloc(executions, sizeof(*times));
    if (!memory || !times || spex_start(NULL) != 0)
        errx(1, "cannot begin");
    memset(memory, 1, bytes + 1);
    double begun = seconds_now();
    uint64_t first = spex_ticks();
    for (size_t e = 0; e < executions; e++) {
        for (size_t at = 0; at < bytes; at += LINE)
            sum += (uint64_t)memory[at];
        times[e] = execute();
    }
    double rate = (double)(spex_ticks() - first) / (seconds_now() - begun);
    spex_stop();
    qsort(times, executions, sizeof(*times), order_ticks);
    printf("%llu %.0f\n", (unsigned long long)times[executions / 2], rate);
    free(times);
    free(memory);
    return 0;
}
