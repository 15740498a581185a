/* SPDX-License-Identifier: MIT */
/* What the files that prepare counters share: candidates for an event, and the choice of one. */
#ifndef SPEX_COUNTERS_PREPARE_H
#define SPEX_COUNTERS_PREPARE_H

#include "counters/plan.h"

/* A candidate: the codes of its events, and a text that names them. */
struct spex_choice {
    uint32_t events;
    struct spex_event_code codes[2];
    char text[160];
};

/* The next candidate for references to and misses of the last-level cache on this processor, best
 * first. `*position` is 0 at first. False: there are no more. */
bool spex_llc_next(unsigned *position, struct spex_choice *choice);

/* Encodes a libpfm4 name. 0, or -ENOENT with the reason in `*why`, a constant text. The caller
 * holds spex_counters_lock. */
int spex_name_encode(const char *name, struct spex_event_code *code, const char **why);

/* Sets the event of a PERFCNTR. If the counter has been prepared for another event, prepares it
 * again. */
int spex_perfcntr_replace(unsigned pcid, const struct spex_choice *choice);

#endif
