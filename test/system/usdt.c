/* SPDX-License-Identifier: MIT */
/* Executes each kind of USDT probe 100 times, and records every tenth snapshot. With an argument it waits for a line
 * before. */
#include <stdio.h>

#include <spex/probe.h>
#include <spex/spex.h>

enum probe { QUERY = 7, BLOCK, STATE };

int main(int argc, char **argv) {
    (void)argv;
    if (spex_start(NULL) != 0)
        return 1;
    if (argc > 1) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    for (int i = 0; i < 100; i++) {
        SPEX_FLT_SCOPE(BLOCK, 1);
        LAT_PROBE_BEGIN(QUERY, 1);
        SNAPSHOT_PROBE(STATE, 10, i, -i);
        LAT_PROBE_END(QUERY);
    }
    return spex_stop();
}
