/* SPDX-License-Identifier: MIT */
/* Measures what waiting for commands costs a program of one thread whose probes are all off: libc
 * takes locks in a program of several threads, which it spares one of one thread.
 *
 *     waiting [--json] [--rounds N]
 *
 * In each round a process of its own runs each loop in each way. The figure is the median over the
 * rounds of how much longer the loop takes than where spex is not started. */
#define _GNU_SOURCE
#include <err.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "bench.h"

enum { ROUNDS_MAX = 10000, REPETITIONS = 5 };

/* How the program waits. */
static const char *const ways[] = {"not started", "dormant", "polled", "thread"};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static char directory[] = "/tmp/spex-waiting-XXXXXX";

/* Blocks of sizes that the caches of threads do not hold. */
static void allocate(void) {
    enum { BLOCKS = 64 };
    static char *blocks[BLOCKS];
    uint32_t random = 1;
    for (unsigned i = 0; i < 200000; i++) {
        random = random * 1664525 + 1013904223;
        unsigned block = random >> 24 & (BLOCKS - 1);
        free(blocks[block]);
        blocks[block] = malloc(1500 + (random >> 12) % 4000);
        if (!blocks[block])
            err(1, "malloc");
        blocks[block][0] = 1;
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

static void write_characters(void) {
    FILE *file = fopen("/dev/null", "we");
    if (!file)
        err(1, "/dev/null");
    for (unsigned i = 0; i < 3000000; i++)
        putc((int)(i & 0x7f), file);
    fclose(file);
}

/* Nothing of libc. */
static void compute(void) {
    for (volatile unsigned i = 0; i < 10000000; i++)
        continue;
}

static const struct loop {
    const char *name;
    void (*run)(void);
} loops[] = {{"malloc", allocate}, {"putc", write_characters}, {"no libc", compute}};

enum { LOOPS = sizeof(loops) / sizeof(loops[0]) };

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The shortest of some repetitions: a disturbance only makes one longer. */
static double shortest(void (*run)(void)) {
    double least = HUGE_VAL;
    for (int r = 0; r < REPETITIONS; r++) {
        SPEX_LAT_SCOPE("repetition");
        double begin = cpu_seconds();
        run();
        double took = cpu_seconds() - begin;
        least = took < least ? took : least;
    }
    return least;
}

/* The process that a round starts: prints the time of each loop. */
static int child(const char *way) {
    const struct spex_options options = {.size = sizeof(options),
                                         .polls = strcmp(way, "polled") == 0,
                                         .waits = strcmp(way, "thread") == 0};
    if (strcmp(way, "not started") != 0 && spex_start(&options) != 0)
        return 1;
    usleep(10000);
    for (int l = 0; l < LOOPS; l++)
        printf("%.9f\n", shortest(loops[l].run));
    return 0;
}

static void measure_way(const char *way, double seconds[LOOPS]) {
    char *command;
    if (asprintf(&command, "exec env -i SPEX_CONTROL=%s /proc/%d/exe --child '%s'", directory,
                 (int)getpid(), way) < 0)
        err(1, "%s", way);
    FILE *output = popen(command, "re");
    if (!output || !bench_read(output, seconds, LOOPS) || pclose(output) != 0)
        errx(1, "%s has failed", way);
    free(command);
}

static double more[WAYS][LOOPS][ROUNDS_MAX]; /* in per cent */

static void measure(size_t rounds) {
    for (size_t r = 0; r < rounds; r++) {
        double seconds[WAYS][LOOPS];
        for (int w = 0; w < WAYS; w++)
            measure_way(ways[w], seconds[w]);
        for (int w = 0; w < WAYS; w++)
            for (int l = 0; l < LOOPS; l++)
                more[w][l][r] = (seconds[w][l] / seconds[0][l] - 1) * 100;
    }
}

static void print(size_t rounds, bool json) {
    const char *comma = "";
    if (json)
        printf("{\"bench\": \"waiting\", \"rounds\": %zu, \"results\": [", rounds);
    else
        printf("Per cent that loops take longer than where spex is not started: median of %zu "
               "rounds, 95 %% interval.\n\n",
               rounds);
    for (int w = 1; w < WAYS; w++)
        for (int l = 0; l < LOOPS; l++) {
            struct bench_result result = bench_median(more[w][l], rounds);
            if (json)
                printf("%s\n  {\"waits\": \"%s\", \"loop\": \"%s\", \"per_cent\": %.2f, "
                       "\"ci95\": [%.2f, %.2f]}",
                       comma, ways[w], loops[l].name, result.median, result.low, result.high);
            else
                printf("%-8s %-8s %6.2f  %.2f to %.2f\n", ways[w], loops[l].name, result.median,
                       result.low, result.high);
            comma = ",";
        }
    if (json)
        puts("]}");
}

int main(int argc, char **argv) {
    size_t rounds = 101;
    bool json;
    if (argc == 3 && strcmp(argv[1], "--child") == 0)
        return child(argv[2]);
    bench_options(argc, argv, 1, ROUNDS_MAX, &rounds, &json);
    if (!mkdtemp(directory))
        err(1, "%s", directory);
    measure(rounds);
    if (rmdir(directory) != 0)
        warn("%s", directory);
    print(rounds, json);
    return 0;
}
