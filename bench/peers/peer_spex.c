/* SPDX-License-Identifier: MIT */
/* spex. Whether its probes are on, and where records go, is in the environment. */
#include <spex/kernel.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "peer.h"

PEER_LOOP(lat_pairs, (void)i; LAT_PROBE_BEGIN(1, 1); PEER_WORK(); LAT_PROBE_END(1);)
PEER_LOOP(kernel_pairs, KERNEL_PROBE_BEGIN(2, 1, i); PEER_WORK(); KERNEL_PROBE_END(2);)

static const char *start(void) {
    return spex_start(NULL) == 0 ? NULL : "spex_start has failed";
}

static void stop(void) {
    spex_stop();
}

const struct peer_case peer_cases[] = {
    {.name = "lat", .pairs = lat_pairs, .start = start, .stop = stop},
    {.name = "kernel", .pairs = kernel_pairs, .start = start, .stop = stop},
    {.name = NULL},
};
