/* SPDX-License-Identifier: MIT */
/* A program with probes for the system tests: works 1,000 times and leaves the rest to the user.
 *
 *     program [stop|exit|twice]    stop: ends with spex_stop; exit: leaves that to the library;
 *                                  twice: starts again after a stop */
#include <stdio.h>
#include <string.h>

#include <spex/probe.h>
#include <spex/spex.h>

enum { REQUEST = 7, STEP = 8, UNNAMED = 9 };

SPEX_PROBE_NAME(REQUEST, "request");
SPEX_PROBE_NAME(STEP, "request.step");

static volatile unsigned sink;

static void work(void) {
    for (unsigned i = 0; i < 1000; i++) {
        LAT_PROBE_BEGIN(REQUEST, 1);
        CNT_PROBE_BEGIN(STEP, 10);
        sink += i;
        CNT_PROBE_END(STEP);
        LAT_PROBE_END(REQUEST);
        SNAPSHOT_PROBE(UNNAMED, 1, i, 2 * i);
    }
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "stop";
    int err = spex_start(NULL);
    work();
    if (strcmp(mode, "twice") == 0) {
        spex_stop();
        err = err ? err : spex_start(NULL);
        work();
    }
    if (strcmp(mode, "exit") != 0)
        spex_stop();
    printf("done %d\n", err);
    return 0;
}
