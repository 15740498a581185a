/* SPDX-License-Identifier: MIT */
/* The program that bench/startup.c and bench/footprint.c run: compiled with PLAIN, without spex.
 * Its first argument is how far spex gets: empty or none: it is linked; off: it is started; on: and
 * its probes are on. With a second one it rests, and prints how much memory it has. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef PLAIN
#define LAT_PROBE_BEGIN(id, sc)
#define LAT_PROBE_END(id)

static int work_begin(const char *how) {
    (void)how;
    return 0;
}
#else
#include <spex/probe.h>
#include <spex/spex.h>

static int work_begin(const char *how) {
    const struct spex_options options = {
        .size = sizeof(options),
        .out = "/dev/null",
        .probes = strcmp(how, "on") == 0 ? "*" : NULL,
    };
    return *how ? spex_start(&options) : 0;
}
#endif

static volatile unsigned sum;

/* Prints the number in the line of this format, in kB. */
static int print_number(const char *file, const char *format) {
    char line[512];
    unsigned long kilobytes = 0;
    FILE *lines = fopen(file, "re");
    while (lines && fgets(line, sizeof(line), lines))
        if (sscanf(line, format, &kilobytes) == 1)
            break;
    printf("%lu\n", kilobytes);
    return lines ? fclose(lines) : -1;
}

/* Address space and resident memory. spex's threads have had time to get what they need: they
 * have slept for the longest time between two passes. */
static int print_memory(void) {
    usleep(300000);
    return print_number("/proc/self/status", "VmSize: %lu") |
           print_number("/proc/self/smaps_rollup", "Rss: %lu");
}

int main(int argc, char **argv) {
    if (work_begin(argc > 1 ? argv[1] : "") != 0)
        return 1;
    for (unsigned i = 0; i < 1000; i++) {
        LAT_PROBE_BEGIN(1, 1);
        sum += i;
        LAT_PROBE_END(1);
    }
    return argc > 2 ? print_memory() : 0;
}
