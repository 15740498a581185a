/* SPDX-License-Identifier: MIT */
/* The journal of a trace: frames of what spex needs to read it again (trace_format.h). */
#ifndef SPEX_TRACE_JOURNAL_H
#define SPEX_TRACE_JOURNAL_H

#include "trace/trace_disk.h"
#include "trace/trace_format.h"

/* Appends a frame, with one write. 0 or a negative errno value. */
int spex_journal_append(struct spex_trace_disk *disk, struct spex_trace_file *journal,
                        enum spex_journal_kind kind, const void *entries, size_t count,
                        size_t entry_bytes);

/* The same for the kinds whose entries are bytes behind a time. */
int spex_journal_append_bytes(struct spex_trace_disk *disk, struct spex_trace_file *journal,
                              enum spex_journal_kind kind, uint64_t ticks, const void *bytes,
                              size_t count);

#endif
