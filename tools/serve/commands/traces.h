/* SPDX-License-Identifier: MIT */
/* The traces in a folder. A name that somebody asks for is one of those that are listed, or none:
 * no path leads out of the folder. */
#ifndef SPEX_TOOLS_SERVE_COMMANDS_TRACES_H
#define SPEX_TOOLS_SERVE_COMMANDS_TRACES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Traces that are listed. */
enum { SPEX_TRACES_MAX = 500 };

struct spex_trace_entry {
    /* ".": the folder itself, where it is a trace. */
    char name[NAME_MAX + 1];
    uint64_t bytes;
    /* Seconds since 1970. */
    int64_t modified;
};

struct spex_trace_list {
    struct spex_trace_entry *entries;
    size_t count;
    /* Those beyond the limit, and those whose name is no text. */
    size_t left_out;
};

/* Lists the traces in the folder of this descriptor, the newest first: folders with `metadata`, or
 * with folders that have. Links are not followed. 0 or a negative errno value; `list` is to be
 * freed in any case. */
int spex_traces_list(int folder, struct spex_trace_list *list);
void spex_traces_free(struct spex_trace_list *list);

/* Whether such a trace is there. */
bool spex_traces_has(int folder, const char *name);

#endif
