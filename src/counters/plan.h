/* SPDX-License-Identifier: MIT */
/* What threads are to open for a counter: found by prepare, read by any thread and signal handler. */
#ifndef SPEX_COUNTER_PLAN_H
#define SPEX_COUNTER_PLAN_H

#include <stdint.h>

#include "counters.h"

/* Of an event, what struct perf_event_attr says; libpfm4 brings a definition of that structure which
 * excludes the kernel's. */
struct spex_event_code {
    uint32_t type;
    uint32_t exclude; /* SPEX_EXCLUDE_… */
    uint64_t config, config1, config2;
};

enum {
    SPEX_EXCLUDE_USER = 1,
    SPEX_EXCLUDE_KERNEL = 2,
    SPEX_EXCLUDE_HYPERVISOR = 4,
    SPEX_EXCLUDE_GUEST = 8,
    SPEX_EXCLUDE_HOST = 16
};

struct spex_plan {
    uint32_t way; /* enum spex_way */
    uint32_t events;
    struct spex_event_code codes[2];
};

/* Replaces the plan. One caller at a time. */
void spex_plan_write(enum spex_counter counter, const struct spex_plan *plan);

/* Copies the plan and returns its generation. When it changes all the time, or this is a signal
 * handler in the middle of the change, the plan is to open nothing, under a generation that does not
 * last. */
uint32_t spex_plan_read(enum spex_counter counter, struct spex_plan *plan);

#endif
