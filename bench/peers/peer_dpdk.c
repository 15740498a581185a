/* SPDX-License-Identifier: MIT */
/* DPDK's trace library: an event at the begin and one at the end. It writes to a buffer of each
 * thread, which nobody reads while the program runs. */
#define _GNU_SOURCE
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_trace.h>
#include <sched.h>

#include "peer.h"
#include "peer_dpdk.h"

PEER_LOOP(pairs, peer_begin(i); PEER_WORK(); peer_end(i);)

/* rte_eal_init binds the thread to a processor, which the other peers' threads are not. */
static const char *initialise(void) {
    static char words[][20] = {
        "peer",          "--no-huge",        "--no-shconf", "--no-pci", "--no-telemetry",
        "--log-level=1", "--trace-bufsz=4M", "-m",          "64"};
    enum { WORDS = sizeof(words) / sizeof(words[0]) };
    char *arguments[WORDS + 1] = {NULL};
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof(cpus), &cpus);
    for (int i = 0; i < WORDS; i++)
        arguments[i] = words[i];
    int status = rte_eal_init(WORDS, arguments);
    sched_setaffinity(0, sizeof(cpus), &cpus);
    return status < 0 ? rte_strerror(rte_errno) : NULL;
}

static const char *on(void) {
    const char *missing = initialise();
    if (missing)
        return missing;
    rte_trace_mode_set(RTE_TRACE_MODE_OVERWRITE);
    return rte_trace_pattern("peer.*", true) == 1 && rte_trace_is_enabled()
               ? NULL
               : "the trace points cannot be switched on";
}

const struct peer_case peer_cases[] = {
    {.name = "off", .pairs = pairs, .start = initialise},
    {.name = "on", .pairs = pairs, .start = on},
    {.name = NULL},
};
