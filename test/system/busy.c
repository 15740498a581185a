/* SPDX-License-Identifier: MIT */
/* A program whose probes would take most of its time, until its standard input ends, and at least a
 * thousand times: one that is executed all the time, one now and then. Then it says how often that
 * was. */
#include <poll.h>
#include <stdio.h>

#include <spex/probe.h>
#include <spex/spex.h>

SPEX_PROBE_NAME(1, "busy");
SPEX_PROBE_NAME(2, "rare");

static unsigned long busy, rare;

static void work(void) {
    for (int i = 0; i < 1000; i++) {
        LAT_PROBE_BEGIN(1, 1);
        for (volatile int step = 0; step < 300; step++)
            continue;
        LAT_PROBE_END(1);
        busy++;
    }
    if (busy % 100000 == 0) {
        TPT_PROBE_BEGIN(2, 1);
        rare++;
        TPT_PROBE_END(2);
    }
}

int main(void) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    if (spex_start(NULL) != 0)
        return 1;
    do
        work();
    while (poll(&input, 1, 0) == 0);
    spex_stop();
    printf("%lu %lu\n", busy, rare);
    return 0;
}
