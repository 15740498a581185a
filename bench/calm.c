/* SPDX-License-Identifier: MIT */
/* The reference of calm rounds, and how busy the machine is. */
#define _GNU_SOURCE
#include "calm.h"

#include <err.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <spex/ticks.h>

/* A calm round's reference takes at most this many times the fastest. */
#define CALM 1.1

/* So many calm rounds tell a median and its interval. */
enum { CALM_LEAST = 9, REFERENCE_PASSES = 4000 };

/* Independent loads and stores: their number bounds how long a pass takes. */
double bench_reference(void) {
    static volatile uint64_t words[8];
    uint64_t begin = spex_ticks();
    for (int pass = 0; pass < REFERENCE_PASSES; pass++) {
        words[0] = 1;
        (void)words[1];
        words[2] = 1;
        (void)words[3];
        (void)words[4];
    }
    return (double)(spex_ticks() - begin) / REFERENCE_PASSES;
}

bool bench_is_calm(double reference, double fastest) {
    return reference <= CALM * fastest;
}

struct bench_calm_result bench_calm_median(const double *values, const double *references,
                                           size_t count, double fastest) {
    double *kept = malloc(count * sizeof(*kept));
    size_t calm = 0;
    if (!kept)
        err(1, "malloc");
    for (size_t i = 0; i < count; i++)
        if (bench_is_calm(references[i], fastest))
            kept[calm++] = values[i];
    bool busy = calm < CALM_LEAST && calm < count;
    if (busy)
        memcpy(kept, values, count * sizeof(*kept));
    struct bench_result result = bench_median(kept, busy ? count : calm);
    free(kept);
    return (struct bench_calm_result){result.median, result.low, result.high, calm, busy};
}

void bench_print_calm(struct bench_calm_result result) {
    printf(", \"calm\": %zu, \"busy\": %s", result.calm, result.busy ? "true" : "false");
}

/* Seconds of all processors since the machine has started: all, and those in which they worked.
 * In the file: user, nice, system, idle, iowait, irq, softirq, steal. */
static bool machine_seconds(double *all, double *busy) {
    enum { IDLE = 3, IOWAIT, FIGURES = 8 };
    char line[512] = "";
    FILE *file = fopen("/proc/stat", "re");
    bool here = file && fgets(line, sizeof(line), file) && strncmp(line, "cpu ", 4) == 0;
    if (file)
        fclose(file);
    *all = *busy = 0;
    char *next = line + 4;
    for (int i = 0; here && i < FIGURES; i++) {
        double seconds = strtod(next, &next) / (double)sysconf(_SC_CLK_TCK);
        *all += seconds;
        *busy += i == IDLE || i == IOWAIT ? 0 : seconds;
    }
    return here;
}

static double used_seconds(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

double bench_others(void) {
    static double all_before = -1, others_before;
    double all, busy;
    if (!machine_seconds(&all, &busy))
        return 0;
    double others = busy - used_seconds(RUSAGE_SELF) - used_seconds(RUSAGE_CHILDREN);
    if (all_before < 0) {
        all_before = all;
        others_before = others;
    }
    return all > all_before ? fmax(others - others_before, 0) / (all - all_before) : 0;
}
