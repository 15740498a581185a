/* SPDX-License-Identifier: MIT */
/* Reads traces: the records of one or several processes, in the order of their time, in memory that
 * does not grow with them but for an index of the packets. Nothing in a trace is trusted. What is
 * damaged is left out and told (problems.h); what is whole is given. For one thread. */
#ifndef SPEX_TRACE_READ_RECORDING_H
#define SPEX_TRACE_READ_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "kernels/kernel_paths.h"
#include "site/selection.h"
#include "trace/read/journal.h"
#include "trace/read/problems.h"

struct spex_recording_process {
    /* The name of its folder, printable. */
    char *name;
    /* "PROGRAM", and the process's number as the program saw it; from the folder's name. */
    char *program;
    uint32_t process_id;
    struct spex_journal journal;
    /* Records discarded, as the streams tell; the journal knows more. */
    uint64_t discarded;
};

struct spex_recording {
    struct spex_recording_process *processes;
    size_t process_count;
    /* Ticks of the first and last event, or of the first and last anchor of a clock. */
    uint64_t begin, end;
    double ticks_per_second;
    /* Older files of a stream were removed; before this time records may be missing. 0: none
     * were. */
    uint64_t removed_until;
    /* Of `begin`, ns since 1970. */
    uint64_t begin_realtime_ns;
    /* Bytes of events between the limits of spex_recording_limit, and how many have been given. */
    uint64_t bytes, bytes_given;
    struct spex_recording_problems problems;
};

struct spex_recording_event {
    const struct spex_recording_process *process;
    const struct spex_recording_class *class;
    struct spex_record record;
};

/* Opens the trace of a process, or of several in one folder. 0, or a negative errno value with the
 * reason. Close it if this succeeds. */
int spex_recording_open(const char *path, struct spex_recording **trace, struct spex_error *error);
void spex_recording_close(struct spex_recording *trace);

/* Leaves out records of probes that the selection does not switch on. */
void spex_recording_want(struct spex_recording *trace, const struct spex_selection *selection);

/* Limits the records to those with from <= timestamp < to, and begins with the first of them. */
void spex_recording_limit(struct spex_recording *trace, uint64_t from, uint64_t to);

/* Gives the next record. 1; 0: there is none left; or a negative errno value with the reason. */
int spex_recording_next(struct spex_recording *trace, struct spex_recording_event *event,
                        struct spex_error *error);

/* Nanoseconds from the beginning of the trace. */
int64_t spex_recording_ns(const struct spex_recording *trace, uint64_t ticks);

/* So many ticks as nanoseconds. */
uint64_t spex_recording_duration_ns(const struct spex_recording *trace, uint64_t ticks);

/* The process's kernels, for functions of kernels/kernel_paths.h. */
struct spex_kernels_known spex_recording_kernels(const struct spex_recording_process *process);

/* What a probe is called: its name, or its id, with the provider in front where the process has
 * several; returns `text`. */
const char *spex_recording_probe_text(const struct spex_recording_process *process,
                                      const struct spex_recording_class *class, char *text,
                                      size_t size);

/* Records that the process has lost, as far as the trace tells. */
uint64_t spex_recording_process_lost(const struct spex_recording_process *process);

#endif
