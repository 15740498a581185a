/* SPDX-License-Identifier: MIT */
/* What the parts of this room that prepare counters know of each other. */
#ifndef SPEX_COUNTER_PREPARE_H
#define SPEX_COUNTER_PREPARE_H

#include "plan.h"

/* A candidate: codes, and what they count, for people. */
struct spex_choice {
    uint32_t events;
    struct spex_event_code codes[2];
    char text[160];
};

/* Event codes for last-level cache references and misses that this processor may have, best first:
 * fills in the one after `*position` (0 at first). False: there are no more. */
bool spex_llc_next(unsigned *position, struct spex_choice *choice);

/* The code of a libpfm4 name. 0, or -ENOENT with `*why`. */
int spex_name_encode(const char *name, struct spex_event_code *code, const char **why);

/* PERFCNTR gets another event: replaces the choice and, if the counter has been prepared, prepares
 * it again. */
int spex_perfcntr_replace(unsigned pcid, const struct spex_choice *choice);

/* Why the last thread could not open the counter as planned: an errno value. */
int spex_counter_fallback_error(enum spex_counter counter);
void spex_counter_fallbacks_forget(void);

/* libpfm4 is not made for several threads: one call of it at a time, under this room's lock. */
void spex_counters_lock(void);
void spex_counters_unlock(void);

#endif
