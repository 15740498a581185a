/* SPDX-License-Identifier: MIT */
/* The ways of reading a counter, and which of them may be used. */
#ifndef SPEX_COUNTERS_WAYS_H
#define SPEX_COUNTERS_WAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "counters/counters.h"

enum spex_way {
    SPEX_WAY_NONE,
    SPEX_WAY_FAULT_RECORDS,  /* head of a ring that gets a record for each page fault */
    SPEX_WAY_SWITCH_COUNT,   /* count in the page of an event of context switches */
    SPEX_WAY_SWITCH_RECORDS, /* head of a ring that gets two records for each context switch */
    SPEX_WAY_RDPMC,          /* the processor's counter, by its instruction */
    SPEX_WAY_READ,           /* read() on the event */
    SPEX_WAY_RUSAGE,         /* getrusage(RUSAGE_THREAD) */
    SPEX_WAYS
};

/* As in SPEX_COUNTERS. */
const char *spex_way_name(enum spex_way way);

/* For people. */
const char *spex_way_text(enum spex_way way);

/* The ways for a counter, best first, up to SPEX_WAY_NONE. */
const enum spex_way *spex_ways_of(enum spex_counter counter);

/* A bit for each way of a comma-separated list. False for a name that is none. */
bool spex_ways_parse(const char *list, uint32_t *allowed);

/* Safe in signal handlers. */
bool spex_way_allowed(enum spex_way way);

/* True when that is a change. */
bool spex_ways_allow(uint32_t allowed);

#endif
