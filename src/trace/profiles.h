/* SPDX-License-Identifier: MIT */
/* Which profiles the journal of a trace gets: all of them, or fewer, where the room is bounded, the
 * more the journal takes; and the last one in any case, by which executions are counted. */
#ifndef SPEX_TRACE_PROFILES_H
#define SPEX_TRACE_PROFILES_H

#include <stddef.h>
#include <stdint.h>

#include "trace/trace_disk.h"

struct spex_trace_profiles {
    /* Since the last one that the journal has. */
    unsigned left_out;
    /* The newest of these; 0 bytes: none. */
    char *last;
    size_t last_bytes;
    /* When the newest of all was made; before the first of them no profile was. */
    uint64_t newest_ticks;
};

/* Writes the frames of a profile: 1; or keeps them for the end: 0; or a negative errno value. */
int spex_trace_profiles_add(struct spex_trace_profiles *profiles, struct spex_trace_disk *disk,
                            struct spex_trace_file *journal, const void *frames, size_t bytes);

/* Keeps the newest profile for the end, as all of them after an error: there may be room then, and
 * by the last one executions are counted whose records are lost. */
void spex_trace_profiles_keep(struct spex_trace_profiles *profiles, const void *frames,
                              size_t bytes);

/* Writes the newest profile if it was left out. 0 or a negative errno value. */
int spex_trace_profiles_end(struct spex_trace_profiles *profiles, struct spex_trace_disk *disk,
                            struct spex_trace_file *journal);

void spex_trace_profiles_free(struct spex_trace_profiles *profiles);

#endif
