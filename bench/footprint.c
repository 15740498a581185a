/* SPDX-License-Identifier: MIT */
/* Measures what spex adds to a program, and compares that with the limits that spex has set itself:
 * the size of a stripped file with one probe; address space and resident memory, where spex is
 * linked beyond the program without it, and where it is started beyond the program that only links
 * it.
 *
 *     footprint [--json] [--rounds N]
 *
 * A figure of memory is the median of the rounds: which pages of a file the kernel maps around one
 * that is touched depends on where the file was loaded. */
#define _GNU_SOURCE
#include <err.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

enum { ROUNDS_MAX = 1000 };

/* In kilobytes of 1000 bytes; limit 0: none. */
static struct figure {
    const char *what;
    double limit;
    double values[ROUNDS_MAX];
    double kilobytes; /* their median */
} figures[] = {
    {.what = "stripped file with one probe", .limit = 300},
    {.what = "address space, linked", .limit = 0},
    {.what = "address space, started, off", .limit = 0},
    {.what = "address space, started, on", .limit = 64000},
    {.what = "resident memory, linked", .limit = 0},
    {.what = "resident memory, started, off", .limit = 300},
    {.what = "resident memory, started, on", .limit = 3000},
};

enum { FIGURES = sizeof(figures) / sizeof(figures[0]), FILE_SIZE = 0, SPACE = 1, RESIDENT = 4 };

/* What a program tells of itself, in units of 1024 bytes. */
struct memory {
    double space, resident;
};

static char directory[] = "/tmp/spex-footprint-XXXXXX";

/* The path of a program by its place beside this one. */
static char *path_of(const char *file) {
    char own[PATH_MAX] = "", *path;
    if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0 ||
        asprintf(&path, "%s/%s", dirname(own), file) < 0)
        errx(1, "%s: not found", file);
    return path;
}

/* The settings of spex alone: none are the user's. */
static struct memory memory_of(const char *file, const char *how) {
    char *path = path_of(file), *command;
    double found[2];
    if (asprintf(&command, "exec env -i SPEX_CONTROL=%s %s '%s' memory", directory, path, how) < 0)
        err(1, "%s", file);
    FILE *output = popen(command, "re");
    if (!output || !bench_read(output, found, 2) || pclose(output) != 0)
        errx(1, "%s has failed", path);
    free(command);
    free(path);
    return (struct memory){found[0], found[1]};
}

static double stripped_size(const char *file) {
    char *path = path_of(file), *command, *stripped;
    struct stat found;
    if (asprintf(&stripped, "%s/stripped", directory) < 0 ||
        asprintf(&command, "strip -o %s '%s'", stripped, path) < 0 || system(command) != 0 ||
        stat(stripped, &found) != 0)
        errx(1, "%s cannot be stripped", path);
    unlink(stripped);
    free(stripped);
    free(command);
    free(path);
    return (double)found.st_size / 1000;
}

static void measure(size_t rounds) {
    static const char *const hows[] = {"", "off", "on"};
    double file = stripped_size("../examples/smallest/smallest");
    for (size_t r = 0; r < rounds; r++) {
        struct memory before = memory_of("startup_plain", "");
        for (int how = 0; how < 3; how++) {
            struct memory probed = memory_of("startup_probed", hows[how]);
            figures[SPACE + how].values[r] = (probed.space - before.space) * 1.024;
            figures[RESIDENT + how].values[r] = (probed.resident - before.resident) * 1.024;
            if (how == 0)
                before = probed;
        }
        figures[FILE_SIZE].values[r] = file;
    }
    for (int f = 0; f < FIGURES; f++)
        figures[f].kilobytes = bench_median(figures[f].values, rounds).median;
}

static bool is_kept(const struct figure *figure) {
    return figure->kilobytes <= figure->limit;
}

static void print_json(void) {
    printf("{\"bench\": \"footprint\", \"results\": [");
    for (int f = 0; f < FIGURES; f++)
        printf("%s\n  {\"what\": \"%s\", \"kilobytes\": %.0f}", f ? "," : "", figures[f].what,
               figures[f].kilobytes);
    printf("],\n \"limits\": [");
    const char *comma = "";
    for (int f = 0; f < FIGURES; f++)
        if (figures[f].limit > 0) {
            printf("%s\n  {\"what\": \"%s\", \"figure\": %.0f, \"at_most\": %.0f, \"kept\": %s}",
                   comma, figures[f].what, figures[f].kilobytes, figures[f].limit,
                   is_kept(&figures[f]) ? "true" : "false");
            comma = ",";
        }
    puts("]}");
}

static void print_table(void) {
    puts("Kilobytes of a file, and of memory: linked, beyond the program without spex; started, "
         "beyond\n"
         "the program that only links it.\n");
    for (int f = 0; f < FIGURES; f++) {
        printf("%-30s %7.0f", figures[f].what, figures[f].kilobytes);
        if (figures[f].limit > 0)
            printf("  at most %.0f: %s", figures[f].limit,
                   is_kept(&figures[f]) ? "kept" : "NOT KEPT");
        puts("");
    }
}

int main(int argc, char **argv) {
    size_t rounds = 11;
    bool json;
    bench_options(argc, argv, 1, ROUNDS_MAX, &rounds, &json);
    if (!mkdtemp(directory))
        err(1, "%s", directory);
    measure(rounds);
    if (rmdir(directory) != 0)
        warn("%s", directory);
    (json ? print_json : print_table)();
    return 0;
}
