/* SPDX-License-Identifier: MIT */
/* The plan of a counter: what threads open for it. prepare.c writes it; any thread and signal
 * handler reads it. */
#ifndef SPEX_COUNTERS_PLAN_H
#define SPEX_COUNTERS_PLAN_H

#include <stdint.h>

#include "counters/counters.h"

/* An event, as in struct perf_event_attr. libpfm4 has its own definition of that structure, and no
 * file can include both. */
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

struct spex_counter_plan {
    uint32_t way; /* enum spex_way */
    uint32_t events;
    struct spex_event_code codes[2];
};

/* Replaces the plan. One caller at a time. */
void spex_counter_plan_write(enum spex_counter counter, const struct spex_counter_plan *plan);

/* Copies the plan and returns its generation. When the plan changes again and again, or a signal
 * handler has interrupted the change, the copy is a plan that opens nothing, with an odd
 * generation, so that the thread reads the plan again at its next probe. */
uint32_t spex_counter_plan_read(enum spex_counter counter, struct spex_counter_plan *plan);

/* The lock of everything that prepares counters. It also serialises calls of libpfm4, which is not
 * made for several threads. */
void spex_counters_lock(void);
void spex_counters_unlock(void);

#endif
