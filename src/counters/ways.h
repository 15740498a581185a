/* SPDX-License-Identifier: MIT */
/* The ways of reading a counter, and which of them SPEX_COUNTERS allows. */
#ifndef SPEX_COUNTERS_WAYS_H
#define SPEX_COUNTERS_WAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "counters/counters.h"

enum spex_way {
    SPEX_WAY_NONE,
    /* Head of a ring that gets a record for each page fault. */
    SPEX_WAY_FAULT_RECORDS,
    /* Count in the mapped page of an event of context switches. */
    SPEX_WAY_SWITCH_COUNT,
    /* Head of a ring that gets two records for each context switch. */
    SPEX_WAY_SWITCH_RECORDS,
    /* The processor's counter, by the instruction RDPMC. */
    SPEX_WAY_RDPMC,
    /* read() on the event. */
    SPEX_WAY_READ,
    /* getrusage(RUSAGE_THREAD). */
    SPEX_WAY_RUSAGE,
    SPEX_WAYS
};

/* A text for messages. */
const char *spex_way_text(enum spex_way way);

/* The ways for a counter, best first, ended by SPEX_WAY_NONE. */
const enum spex_way *spex_ways_of(enum spex_counter counter);

/* Parses a comma-separated list of names into a mask of ways. False: it has an unknown name. */
bool spex_ways_parse(const char *list, uint32_t *allowed);

/* Whether SPEX_COUNTERS allows the way. Safe in signal handlers. */
bool spex_way_allowed(enum spex_way way);

/* Sets the mask of allowed ways. True: it has changed. */
bool spex_ways_allow(uint32_t allowed);

#endif
