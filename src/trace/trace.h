/* SPDX-License-Identifier: MIT */
/* Writes the trace of one process: records to CTF's streams, one a CPU, and the journal. Used by
 * the spex command and within a program. One thread at a time. */
#ifndef SPEX_TRACE_TRACE_H
#define SPEX_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "text/error.h"
#include "trace/trace_disk.h"
#include "trace/trace_limits.h"
#include "wire/stream_format.h"

struct spex_trace;

struct spex_trace_options {
    /* Exists. The trace gets a folder of its own in it, PROGRAM-PID. */
    const char *directory;
    const char *program;
    int process_id;
    /* The process had counted nothing before it was recorded. */
    bool whole;
    /* Its records begin here, in ticks, and no profile is older; 0: with the first that comes. */
    uint64_t from;
    /* What is kept is the disk's matter. */
    struct spex_trace_limits limits;
    /* Shared by the traces of one directory. It is freed after them. */
    struct spex_trace_disk *disk;
};

/* Reads the clocks, by which this process's traces know how fast the ticks go: the longer before
 * the first trace, the better, and before any profile is made that a trace gets. Sleeps for 2 ms at
 * the first call. */
void spex_trace_clock_begin(void);

/* 0, or a negative errno value with the reason. */
int spex_trace_open(const struct spex_trace_options *options, struct spex_trace **out,
                    struct spex_error *error);

/* From here on an error, such as a full disk, ends the recording, as spex_trace_error tells; what
 * was written stays whole. The functions can be called after it, and do nothing. */

/* What the program tells of its sites and contexts, before the records that need it. */
void spex_trace_sites(struct spex_trace *trace, const struct spex_stream_site *sites, size_t count);
void spex_trace_contexts(struct spex_trace *trace, const struct spex_stream_context *contexts,
                         size_t count);

/* Where the next batch, of this CPU's ring, can be made, so that it is not copied: nothing else of
 * the trace may be called before it is added. NULL: nowhere. */
struct spex_record *spex_trace_room(struct spex_trace *trace, uint32_t cpu, size_t count);

/* A batch of one ring. Its records are sound: their types, CPUs and counts of fields. */
void spex_trace_records(struct spex_trace *trace, const struct spex_record *records, size_t count);

/* All records that were made before `watermark` have come, but for those whose threads were
 * suspended between their time and the ring. Stores the packets that are due. */
void spex_trace_pass(struct spex_trace *trace, uint64_t watermark);

/* The process has lost so many records since the trace began, as far as is known now. */
void spex_trace_lost(struct spex_trace *trace, uint64_t lost);

/* The frames of a profile, as the journal has them, with the time at which the process says that it
 * made it; where that is not between the profile before and now, the present time. */
void spex_trace_profile(struct spex_trace *trace, const void *frames, size_t bytes);

/* Something that happened at a time, in words. */
void spex_trace_mark(struct spex_trace *trace, uint64_t ticks, const char *text);

/* Writes what waits, and what is known at the end. */
void spex_trace_end(struct spex_trace *trace);

struct spex_trace_totals {
    /* Records in the trace's files, those of files that have made room for newer ones included. */
    uint64_t records;
    /* Records that are not: lost by the program, or left out after an error. */
    uint64_t lost;
};

struct spex_trace_totals spex_trace_totals(const struct spex_trace *trace);

/* The trace's folder. */
const char *spex_trace_directory(const struct spex_trace *trace);

/* Why recording has ended: a negative errno value; 0: it has not. */
int spex_trace_error(const struct spex_trace *trace);

void spex_trace_free(struct spex_trace *trace);

#endif
