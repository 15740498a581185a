/* SPDX-License-Identifier: MIT */
/* Between the files that prepare counters: candidates for an event, and the choice of one. */
#ifndef SPEX_COUNTERS_PREPARE_H
#define SPEX_COUNTERS_PREPARE_H

#include "counters/plan.h"

/* A candidate: the codes of its events, and a text that names them. */
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

#endif
