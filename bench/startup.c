/* SPDX-License-Identifier: MIT */
/* Measures how much longer a short program takes with spex: from the start of its process to its
 * end, beside a program without spex, and compares that with the limits that spex has set itself.
 * The programs are linked dynamically, as programs mostly are, and statically, where that can be
 * done here: of the former's time the loader takes a part for libm, which C++ programs have anyway.
 *
 *     startup [--json] [--rounds N]
 *
 * Each round runs each program once. The figure is the shortest time of all rounds, because
 * disturbances only make a run longer. */
#define _GNU_SOURCE
#include <err.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/* The programs; `limit` is in milliseconds beyond the program without spex, 0: none. */
static struct program {
    const char *name, *file, *argument;
    double limit;
    double milliseconds;
} programs[] = {
    {"without spex", "startup_plain", NULL, 0, 0},
    {"linked", "startup_probed", NULL, 0, 0},
    {"started, off", "startup_probed", "off", 0.3, 0},
    {"started, on", "startup_probed", "on", 3, 0},
    {"static, without spex", "startup_plain_static", NULL, 0, 0},
    {"static, linked", "startup_probed_static", NULL, 0, 0},
    {"static, started, off", "startup_probed_static", "off", 0.3, 0},
    {"static, started, on", "startup_probed_static", "on", 3, 0},
};

/* Programs of one kind: dynamic, then static. */
enum { KIND = 4 };

/* How many of the programs there are. */
static int program_count = sizeof(programs) / sizeof(programs[0]);

static char control_directory[] = "/tmp/spex-startup-XXXXXX";

/* The environment without the user's settings. */
static char *environment[] = {NULL, NULL};

static double milliseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* The programs lie beside this one. */
static void path_of(const struct program *program, char path[PATH_MAX]) {
    char own[PATH_MAX] = "";
    if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0 ||
        snprintf(path, PATH_MAX, "%s/%s", dirname(own), program->file) >= PATH_MAX)
        errx(1, "%s: not found", program->file);
}

static double run_time(const struct program *program, char *path) {
    char *arguments[] = {path, (char *)(uintptr_t)program->argument, NULL};
    pid_t process;
    int status;
    double begin = milliseconds_now();
    int failure = posix_spawn(&process, path, NULL, NULL, arguments, environment);
    if (failure || waitpid(process, &status, 0) != process || status != 0)
        errx(1, "%s has failed: %s", path, failure ? strerror(failure) : "not by its start");
    return milliseconds_now() - begin;
}

static void measure(size_t rounds) {
    static char paths[sizeof(programs) / sizeof(programs[0])][PATH_MAX];
    for (int p = 0; p < program_count; p++)
        path_of(&programs[p], paths[p]);
    if (access(paths[KIND], X_OK) != 0)
        program_count = KIND;
    for (size_t r = 0; r < rounds; r++)
        for (int p = 0; p < program_count; p++) {
            double took = run_time(&programs[p], paths[p]);
            if (r == 0 || took < programs[p].milliseconds)
                programs[p].milliseconds = took;
        }
}

static double more(const struct program *program) {
    return program->milliseconds - programs[(program - programs) / KIND * KIND].milliseconds;
}

static void print_json(size_t rounds) {
    printf("{\"bench\": \"startup\", \"rounds\": %zu, \"results\": [", rounds);
    for (int p = 0; p < program_count; p++)
        printf("%s\n  {\"program\": \"%s\", \"milliseconds\": %.3f, \"more\": %.3f}", p ? "," : "",
               programs[p].name, programs[p].milliseconds, more(&programs[p]));
    printf("],\n \"limits\": [");
    const char *comma = "";
    for (int p = 0; p < program_count; p++)
        if (programs[p].limit > 0) {
            printf("%s\n  {\"what\": \"%s\", \"figure\": %.3f, \"at_most\": %g, \"kept\": %s}",
                   comma, programs[p].name, more(&programs[p]), programs[p].limit,
                   more(&programs[p]) <= programs[p].limit ? "true" : "false");
            comma = ",";
        }
    puts("]}");
}

static void print_table(size_t rounds) {
    printf(
        "Milliseconds of a process, the shortest of %zu runs, and beyond those without spex.\n\n",
        rounds);
    for (int p = 0; p < program_count; p++) {
        printf("%-20s %7.3f %7.3f", programs[p].name, programs[p].milliseconds, more(&programs[p]));
        if (programs[p].limit > 0)
            printf("  at most %g: %s", programs[p].limit,
                   more(&programs[p]) <= programs[p].limit ? "kept" : "NOT KEPT");
        puts("");
    }
}

int main(int argc, char **argv) {
    size_t rounds = 500;
    bool json;
    bench_options(argc, argv, 1, 100000, &rounds, &json);
    if (!mkdtemp(control_directory) ||
        asprintf(&environment[0], "SPEX_CONTROL=%s", control_directory) < 0)
        err(1, "%s", control_directory);
    measure(rounds);
    if (rmdir(control_directory) != 0)
        warn("%s", control_directory);
    (json ? print_json : print_table)(rounds);
    return 0;
}
