/* SPDX-License-Identifier: MIT */
/* Events of packets in the order of their time. Packets are sorted by their beginning; one is read
 * when no event before it is left, and freed behind its last event. */
#ifndef SPEX_TRACE_READ_MERGE_H
#define SPEX_TRACE_READ_MERGE_H

#include <stdint.h>

#include <spex/record.h>

#include "trace/read/journal.h"
#include "trace/read/packets.h"
#include "trace/read/problems.h"

/* A stream's file, of which packets know the number. */
struct spex_recording_file {
    char *path;
    const struct spex_journal *journal;
    /* The process's number in the trace. */
    uint32_t process;
};

struct spex_merge;

/* Keeps the pointers. NULL: no memory. */
struct spex_merge *spex_merge_create(struct spex_packet_places *packets,
                                     const struct spex_recording_file *files,
                                     struct spex_recording_problems *problems);
void spex_merge_destroy(struct spex_merge *merge);

/* Begins again, with events from `from` on. */
void spex_merge_restart(struct spex_merge *merge, uint64_t from);

/* Gives the next event of a wanted class. 1; 0: there is none left; a negative errno value, with
 * the reason. `*bytes` grows by the bytes of packets that are done. */
int spex_merge_next(struct spex_merge *merge, struct spex_record *record,
                    const struct spex_recording_class **class, uint32_t *process, uint64_t *bytes,
                    struct spex_error *error);

#endif
