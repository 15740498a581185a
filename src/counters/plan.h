/* SPDX-License-Identifier: MIT */
/* The plan of a counter: the events that threads open for it, and the way of reading. prepare.c
 * writes plans; any thread and signal handler reads them. */
#ifndef SPEX_COUNTERS_PLAN_H
#define SPEX_COUNTERS_PLAN_H

#include <stdint.h>

#include "counters/counters.h"

/* An event, as in struct perf_event_attr. libpfm4 has its own definition of that structure, and no
 * file can include both. */
struct spex_event_code {
    uint32_t type;
    /* Bits SPEX_EXCLUDE_…. */
    uint32_t exclude;
    uint64_t config, config1, config2;
};

enum {
    SPEX_EXCLUDE_USER = 1,
    SPEX_EXCLUDE_KERNEL = 2,
    SPEX_EXCLUDE_HYPERVISOR = 4,
    SPEX_EXCLUDE_GUEST = 8,
    SPEX_EXCLUDE_HOST = 16
};

struct spex_counter_plan {
    /* A value of enum spex_way. */
    uint32_t way;
    uint32_t events;
    struct spex_event_code codes[2];
};

/* Replaces the plan. One caller at a time. */
void spex_counter_plan_write(enum spex_counter counter, const struct spex_counter_plan *plan);

/* Copies the plan and returns its generation. If the plan changes again and again, or the caller is
 * a signal handler that has interrupted the change, the copy opens nothing and the generation is
 * odd: the thread then reads the plan again at its next probe. */
uint32_t spex_counter_plan_read(enum spex_counter counter, struct spex_counter_plan *plan);

#endif
