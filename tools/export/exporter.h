/* SPDX-License-Identifier: MIT */
/* What a format of `spex export` is: functions that are given the records of a trace, one after the
 * other, and write them. */
#ifndef SPEX_TOOLS_EXPORT_EXPORTER_H
#define SPEX_TOOLS_EXPORT_EXPORTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "text/error.h"
#include "tools/export/formats.h"
#include "tools/export/labels.h"
#include "trace/read/recording.h"

struct spex_export {
    const struct spex_recording *trace;
    const struct spex_labels *labels;
    /* Where to write; NULL for a format that writes the file `path` itself. */
    FILE *out;
    const char *path;
    /* The part of the trace that is exported: ticks, from <= t < to. */
    uint64_t from, to;
    /* Weights of stacks are executions, and no times. */
    bool by_executions;
    /* What it is compared with; NULL: nothing. How many seconds that has, and what is exported. */
    const struct spex_recording *before;
    const struct spex_labels *before_labels;
    double before_seconds, seconds;
};

/* All functions but `begin` get the state that `begin` made. Those that return an int return 0, or
 * a negative errno value with the reason; errors of `out` stay in the stream. */
struct spex_exporter {
    const char *name;
    /* A library that spex was built without; then there are no functions. NULL: none. */
    const char *lacks;
    /* It is no text, and not for a terminal. */
    bool binary;
    /* It needs a path: it writes no stream. */
    bool needs_path;
    /* It writes all at the end: a file is replaced then, or stays as it was after an error. */
    bool document;
    /* It goes by time, or with --by by executions. */
    bool weighs;
    int (*begin)(const struct spex_export *of, void **state, struct spex_error *error);
    int (*event)(void *state, const struct spex_recording_event *event, struct spex_error *error);
    /* The same for records of what it is compared with, which come first. NULL: it compares nothing. */
    int (*before)(void *state, const struct spex_recording_event *event, struct spex_error *error);
    /* Completes what is written; also after an export that was broken off. */
    int (*end)(void *state, struct spex_error *error);
    void (*free)(void *state);
};

#define SPEX_EXPORTER(name, ending) extern const struct spex_exporter spex_export_##name;
SPEX_EXPORT_FORMATS(SPEX_EXPORTER)
#undef SPEX_EXPORTER

#endif
