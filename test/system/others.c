/* SPDX-License-Identifier: MIT */
/* A program with probes that the other one has not: two of one type, and those of types that
 * count. */
#include <stdio.h>

#include <spex/probe.h>
#include <spex/spex.h>

enum { SELDOM = 50, OFTEN = 51, COUNTERS = 60 };

static volatile unsigned sink;

int main(void) {
    spex_start(NULL);
    for (unsigned i = 0; i < 1000; i++) {
        CNT_PROBE_BEGIN(SELDOM, 1);
        for (unsigned j = 0; j < 3; j++) {
            CNT_PROBE_BEGIN(OFTEN, 1);
            sink += j;
            CNT_PROBE_END(OFTEN);
        }
        CNT_PROBE_END(SELDOM);
    }
    for (unsigned i = 0; i < 10; i++) {
        SPEX_TPT_SCOPE(COUNTERS, 1);
        SPEX_LLC_SCOPE(COUNTERS, 1);
        SPEX_FLT_SCOPE(COUNTERS, 1);
        SPEX_CTXSW_SCOPE(COUNTERS, 1);
        SPEX_PERFCNTR_SCOPE(COUNTERS, 1, 0);
        sink += i;
    }
    return spex_stop();
}
