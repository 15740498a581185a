/* SPDX-License-Identifier: MIT */
/* Measures what the collector takes of a program whose rings are nearly empty: its passes a second,
 * and its share of a CPU.
 *
 *     resting [--json] [--rounds N]
 *
 * In each round a process of its own executes a CNT probe for a second in each way: never, 1,000
 * times a second, and so with a budget of 1 %; and in a loop with that budget. Figures are medians
 * over the rounds. A pass is a wake-up of the collector's thread, as the kernel counts them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spex/spex.h>

#include "bench.h"

enum { EXECUTED = 1, ROUNDS_MAX = 1000, SECOND_NS = 1000000000 };

static const struct way {
    const char *name;
    const char *budget;
    unsigned pause_ns; /* between executions; 0: none */
    bool executes;
} ways[] = {
    {"idle", NULL, 1000000, false},
    {"1,000 records a second", NULL, 1000000, true},
    {"the same with 1 %", "1%", 1000000, true},
    {"a loop with 1 %", "1%", 0, true},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]), FIGURES = 2 };

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* Reads the first line of the task's file `name` that begins with `key`. */
static bool task_read(const char *task, const char *name, const char *key, char *text, int size) {
    char path[300];
    snprintf(path, sizeof(path), "/proc/self/task/%s/%s", task, name);
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(text, size, file))
        found = strncmp(text, key, strlen(key)) == 0;
    if (file)
        fclose(file);
    return found;
}

/* Passes, and nanoseconds of CPU time, of the collector so far. */
static void collector_figures(double figures[FIGURES]) {
    DIR *tasks = opendir("/proc/self/task");
    char text[100];
    bool found = false;
    if (!tasks)
        err(1, "/proc/self/task");
    for (struct dirent *task; !found && (task = readdir(tasks));) {
        if (!task_read(task->d_name, "comm", "spex-collector", text, sizeof(text)))
            continue;
        found = task_read(task->d_name, "status", "voluntary_ctxt_switches:", text, sizeof(text));
        figures[0] = strtod(strchr(text, ':') + 1, NULL);
        found = found && task_read(task->d_name, "schedstat", "", text, sizeof(text));
        figures[1] = strtod(text, NULL);
    }
    closedir(tasks);
    if (!found)
        errx(1, "no collector runs, or the kernel does not tell its CPU time");
}

static void execute(const struct way *way, uint64_t ns) {
    for (uint64_t end = now_ns() + ns; now_ns() < end;) {
        for (int i = 0; way->executes && i < (way->pause_ns ? 1 : 100); i++) {
            SPEX_CNT_PROBE_BEGIN(EXECUTED, 1);
            SPEX_CNT_PROBE_END(EXECUTED);
        }
        if (way->pause_ns)
            nanosleep(&(struct timespec){.tv_nsec = way->pause_ns}, NULL);
    }
}

/* The process of a round: half a second passes before it is measured. */
static void child(const struct way *way, int output) {
    struct spex_options options = {
        .size = sizeof(options), .probes = "*", .budget = way->budget, .out = "/dev/null"};
    double before[FIGURES], figures[FIGURES];
    setenv("SPEX_CONTROL", "off", 1);
    if (spex_start(&options) != 0)
        errx(1, "cannot start spex");
    execute(way, SECOND_NS / 2);
    uint64_t begin = now_ns();
    collector_figures(before);
    execute(way, SECOND_NS);
    collector_figures(figures);
    double seconds = (double)(now_ns() - begin) / SECOND_NS;
    figures[0] = (figures[0] - before[0]) / seconds;
    figures[1] = (figures[1] - before[1]) / seconds / SECOND_NS * 100;
    if (write(output, figures, sizeof(figures)) != sizeof(figures))
        err(1, "write");
    _exit(0);
}

static void measure_way(const struct way *way, double figures[FIGURES]) {
    int ends[2], status;
    if (pipe(ends) != 0)
        err(1, "pipe");
    pid_t pid = fork();
    if (pid < 0)
        err(1, "fork");
    if (pid == 0)
        child(way, ends[1]);
    close(ends[1]);
    bool told = read(ends[0], figures, FIGURES * sizeof(*figures)) == FIGURES * sizeof(*figures);
    close(ends[0]);
    if (waitpid(pid, &status, 0) != pid || status != 0 || !told)
        errx(1, "%s has failed", way->name);
}

static double measured[WAYS][FIGURES][ROUNDS_MAX];

static void print(size_t rounds, bool json) {
    if (json)
        printf("{\"bench\": \"resting\", \"rounds\": %zu, \"results\": [", rounds);
    else
        printf("The collector: median of %zu rounds, 95 %% interval.\n\n", rounds);
    for (int w = 0; w < WAYS; w++) {
        struct bench_result passes = bench_median(measured[w][0], rounds),
                            cpu = bench_median(measured[w][1], rounds);
        if (json)
            printf("%s\n  {\"what\": \"%s\", \"passes\": %.1f, \"passes_ci95\": [%.1f, %.1f], "
                   "\"cpu_per_cent\": %.4f, \"cpu_ci95\": [%.4f, %.4f]}",
                   w ? "," : "", ways[w].name, passes.median, passes.low, passes.high, cpu.median,
                   cpu.low, cpu.high);
        else
            printf("%-24s %6.1f passes a second  %6.1f to %-6.1f %6.3f %% of a CPU  %.3f to %.3f\n",
                   ways[w].name, passes.median, passes.low, passes.high, cpu.median, cpu.low,
                   cpu.high);
    }
    if (json)
        puts("]}");
}

int main(int argc, char **argv) {
    size_t rounds = 11;
    bool json;
    bench_options(argc, argv, 1, ROUNDS_MAX, &rounds, &json);
    for (size_t r = 0; r < rounds; r++)
        for (int w = 0; w < WAYS; w++) {
            double figures[FIGURES];
            measure_way(&ways[w], figures);
            for (int f = 0; f < FIGURES; f++)
                measured[w][f][r] = figures[f];
        }
    print(rounds, json);
    return 0;
}
