/* SPDX-License-Identifier: MIT */
/* A program that does little else than pass through a region. One of its probes is executed in each
 * hundredth pass, one in each hundred thousandth. At the end it says how often that was. */
#include <stdio.h>
#include <stdlib.h>

#include <spex/probe.h>
#include <spex/spex.h>

SPEX_PROBE_NAME(1, "seldom");
SPEX_PROBE_NAME(2, "rare");

static unsigned long seldom, rare;

static __attribute__((noinline)) void pass(unsigned long number) {
    SPEX_REGION(1, 4, {
        if (number % 100 == 0) {
            CNT_PROBE_BEGIN(1, 1);
            seldom++;
            CNT_PROBE_END(1);
        }
        if (number % 100000 == 0) {
            SNAPSHOT_PROBE(2, 1, number);
            rare++;
        }
    })
}

int main(int argc, char **argv) {
    unsigned long passes = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    if (spex_start(NULL) != 0)
        return 1;
    for (unsigned long number = 0; number < passes; number++)
        pass(number);
    spex_stop();
    printf("%lu %lu\n", seldom, rare);
    return 0;
}
