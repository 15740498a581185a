/* SPDX-License-Identifier: MIT */
/* The program that bench/startup.c runs: compiled with PLAIN, without spex. Its argument is how far
 * spex gets: none: it is linked; off: it is started; on: and its probes are on. */
#include <stdbool.h>
#include <string.h>

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

int main(int argc, char **argv) {
    if (work_begin(argc > 1 ? argv[1] : "") != 0)
        return 1;
    for (unsigned i = 0; i < 1000; i++) {
        LAT_PROBE_BEGIN(1, 1);
        sum += i;
        LAT_PROBE_END(1);
    }
    return 0;
}
