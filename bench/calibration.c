/* SPDX-License-Identifier: MIT */
/* Measures whether calibration is the same twice: starts a program with a probe of each type many
 * times, and compares the costs that the starts have found.
 *
 *     calibration [--json] [--rounds N]
 *
 * The program is this one, which writes its figures to the standard output when its argument is
 * "start". A figure is kept when its 90 % quantile is at most 1.3 times its 10 % quantile, or half
 * a tick above it, which is less than the clock can tell. */
#define _GNU_SOURCE
#include <err.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spex/kernel.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "bench.h"
#include "site/cost.h"

#define RATIO_MOST  1.3
#define TICKS_LEAST 0.5

/* Types whose cost is the time of a system call are left out. */
static const struct {
    uint32_t type;
    const char *name;
} types[] = {{SPEX_CNT, "CNT"},       {SPEX_LAT, "LAT"},     {SPEX_TPT, "TPT"},
             {SPEX_FLT, "FLT"},       {SPEX_CTXSW, "CTXSW"}, {SPEX_SNAPSHOT, "SNAPSHOT"},
             {SPEX_KERNEL, "KERNEL"}, {SPEX_SPAN, "SPAN"}};
static const char *const states[] = {"off", "skipped", "on", "drawn", "empty"};

enum {
    TYPES = sizeof(types) / sizeof(types[0]),
    STATES = sizeof(states) / sizeof(states[0]),
    FIGURES = TYPES * STATES + 1,
    ROUNDS_MOST = 10000,
};

/* Of each start; the last figure is that of a polled execution. */
static double figures[FIGURES][ROUNDS_MOST];

/* Never called: it is enough that there are such sites. */
void places(uint64_t value);
/* NOLINTNEXTLINE(readability-function-size) */
void places(uint64_t value) {
    CNT_PROBE_BEGIN(1, 1);
    LAT_PROBE_BEGIN(2, 1);
    TPT_PROBE_BEGIN(3, 1);
    FLT_PROBE_BEGIN(4, 1);
    CTXSW_PROBE_BEGIN(5, 1);
    KERNEL_PROBE_BEGIN(7, 1, value);
    SNAPSHOT_PROBE(6, 1, value);
    SPAN_PROBE_BEGIN(8, 1, value);
    SPAN_PROBE_END(8, value);
    KERNEL_PROBE_END(7);
    CTXSW_PROBE_END(5);
    FLT_PROBE_END(4);
    TPT_PROBE_END(3);
    LAT_PROBE_END(2);
    CNT_PROBE_END(1);
}

static int start(void) {
    const struct spex_options options = {
        .size = sizeof(options), .out = "/dev/null", .probes = "*"};
    double found[FIGURES] = {0};
    if (spex_start(&options) != 0)
        return 1;
    for (int t = 0; t < TYPES; t++) {
        struct spex_cost cost = {0};
        spex_cost_get(types[t].type, &cost);
        const double of_type[STATES] = {cost.test, cost.skip, cost.record,
                                        spex_cost_drawn(types[t].type),
                                        spex_cost_empty(types[t].type).ticks};
        memcpy(found + t * STATES, of_type, sizeof(of_type));
    }
    found[FIGURES - 1] = spex_cost_polled();
    return write(STDOUT_FILENO, found, sizeof(found)) == sizeof(found) ? 0 : 1;
}

/* Starts the program with a pipe as its output, and takes its figures. */
static void round_take(size_t round) {
    char name[] = "calibration", argument[] = "start", closed[] = "SPEX_CONTROL=off";
    char *arguments[] = {name, argument, NULL}, *environment[] = {closed, NULL};
    double found[FIGURES];
    posix_spawn_file_actions_t actions;
    int ends[2], status;
    pid_t process;
    if (pipe(ends) != 0)
        err(1, "pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (posix_spawn(&process, "/proc/self/exe", &actions, NULL, arguments, environment) != 0)
        errx(1, "the program does not start");
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    ssize_t bytes = read(ends[0], found, sizeof(found));
    close(ends[0]);
    if (waitpid(process, &status, 0) != process || status != 0 || bytes != sizeof(found))
        errx(1, "the program has failed");
    for (int f = 0; f < FIGURES; f++)
        figures[f][round] = found[f];
}

static int order(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void print_figure(int f, size_t rounds, bool json) {
    const char *type = f < FIGURES - 1 ? types[f / STATES].name : "all";
    const char *state = f < FIGURES - 1 ? states[f % STATES] : "polled";
    const double *sorted = figures[f];
    qsort(figures[f], rounds, sizeof(*sorted), order);
    double low = sorted[rounds / 10], high = sorted[rounds - 1 - rounds / 10];
    bool kept = high <= low * RATIO_MOST || high <= low + TICKS_LEAST;
    printf(json ? "%s\n  {\"type\": \"%s\", \"state\": \"%s\", \"p10\": %.3f, \"median\": %.3f, "
                  "\"p90\": %.3f, \"kept\": %s}"
                : "%s%-9s %-8s %8.2f %8.2f %8.2f  %s\n",
           json && f ? "," : "", type, state, low, sorted[rounds / 2], high,
           json   ? kept ? "true" : "false"
           : kept ? "kept"
                  : "NOT KEPT");
}

int main(int argc, char **argv) {
    size_t rounds = 50;
    bool json;
    if (argc == 2 && strcmp(argv[1], "start") == 0)
        return start();
    bench_options(argc, argv, 1, ROUNDS_MOST, &rounds, &json);
    for (size_t r = 0; r < rounds; r++)
        round_take(r);
    if (json)
        printf("{\"bench\": \"calibration\", \"rounds\": %zu, \"ratio_most\": %g, \"results\": [",
               rounds, RATIO_MOST);
    else
        printf("Calibrated ticks of %zu starts: 10 %%, 50 %% and 90 %% quantiles.\n\n", rounds);
    for (int f = 0; f < FIGURES; f++)
        print_figure(f, rounds, json);
    if (json)
        puts("]}");
    return 0;
}
