/* SPDX-License-Identifier: MIT */
/* Runs usage with all probes off, on and off again, and prints what of it there must be records of,
 * by type: the test compares that with the table. */
#ifndef SPEX_TEST_USAGE_MAIN_H
#define SPEX_TEST_USAGE_MAIN_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <spex/spex.h>

#include "usage.h"

uint64_t usage_executed[SPEX_PROBE_TYPES];
int usage_evaluated;

/* Values that everything evaluates while all is off: USDT probes take them all the same. */
#if defined(SPEX_SDT) && !defined(SPEX_DISABLE)
#define USAGE_EVALUATED_OFF 8
#else
#define USAGE_EVALUATED_OFF 0
#endif

/* A step's number where something is wrong. */
static int usage_fails(int step) {
    printf("step %d is wrong\n", step);
    spex_stop();
    return step;
}

static uint64_t usage_sum(void) {
    uint64_t sum = 0;
    for (int type = 0; type < SPEX_PROBE_TYPES; type++)
        sum += usage_executed[type];
    return sum;
}

static int usage_run(int (*everything)(void)) {
    struct spex_options options;
    struct spex_status status;
    memset(&options, 0, sizeof(options));
    memset(&status, 0, sizeof(status));
    options.size = sizeof(options);
    status.size = sizeof(status);
    options.probes = "*@1";
    if (!usage_settings() || !everything() || usage_evaluated != USAGE_EVALUATED_OFF)
        return usage_fails(1);
    usage_evaluated = 0;
    memset(usage_executed, 0, sizeof(usage_executed));
    if (spex_start(&options) != 0)
        return usage_fails(2);
    if (!everything())
        return usage_fails(3);
    if (spex_status_get(&status) != 0)
        return usage_fails(4);
#ifdef SPEX_DISABLE
    memset(usage_executed, 0, sizeof(usage_executed));
    if (status.sites != 0 || usage_evaluated != 0)
        return usage_fails(5);
#else
    if (status.sites == 0 || status.sites != status.sites_on || usage_evaluated != 8)
        return usage_fails(6);
#endif
    if (status.produced != usage_sum() || status.unrecorded != 0)
        return usage_fails(7);
    uint64_t executed = usage_sum();
    for (int type = 0; type < SPEX_PROBE_TYPES; type++)
        printf("%d %" PRIu64 "\n", 1 << type, usage_executed[type]);
    if (spex_stop() != 0 || !everything())
        return usage_fails(8);
    if (spex_status_get(&status) != 0 || status.produced != executed ||
        status.consumed != executed || status.lost != 0)
        return usage_fails(9);
    return 0;
}

#endif
