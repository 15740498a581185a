/* SPDX-License-Identifier: MIT */
/* The journal of a process's trace: what spex itself needs to read the trace again. Nothing in it
 * is trusted: each frame is checked, texts are made printable, and a malformed
 * frame ends the reading with a problem; what came before it is kept. A frame that the file's end
 * cuts off is that of a writer that was killed, or that still writes. */
#ifndef SPEX_TRACE_READ_JOURNAL_H
#define SPEX_TRACE_READ_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/profile_reader.h"
#include "trace/read/problems.h"
#include "wire/stream_format.h"

/* A class of events: one probe's records with so many values. */
struct spex_recording_class {
    bool known;
    /* The caller's: its records are given. All are at first. */
    bool wanted;
    uint16_t probe_id;
    uint16_t values;
    uint32_t probe_type;
    uint32_t kinds; /* of a record's fields */
    /* A site of the probe; NULL: the journal does not tell. */
    const struct spex_stream_site *site;
};

/* What an event's id stands for. */
struct spex_recording_layout {
    uint32_t class;
    uint8_t layout; /* enum spex_trace_layout */
    bool known;
};

/* One moment on three clocks. */
struct spex_recording_anchor {
    uint64_t ticks;
    uint64_t realtime_ns;
    uint64_t monotonic_ns;
    uint64_t whole;
};

/* Where the journal has a profile. */
struct spex_recording_profile_at {
    uint64_t ticks;
    uint64_t offset;
    uint32_t bytes;
};

/* The losses of the process up to a moment. */
struct spex_recording_lost {
    uint64_t ticks;
    uint64_t lost;
};

#define SPEX_RECORDING_MARK_BYTES 256

struct spex_recording_mark {
    uint64_t ticks;
    char text[SPEX_RECORDING_MARK_BYTES];
};

struct spex_journal {
    char *path;
    struct spex_stream_site *sites;
    size_t site_count;
    /* By number; a node without a parent is not there. */
    struct spex_stream_context *contexts;
    /* By class number. */
    struct spex_recording_class *classes;
    size_t class_count;
    /* By an event's id. */
    struct spex_recording_layout *events;
    size_t event_count;
    struct spex_recording_anchor *anchors;
    size_t anchor_count;
    struct spex_recording_profile_at *profiles;
    size_t profile_count;
    struct spex_recording_lost *losses;
    size_t loss_count;
    struct spex_recording_mark *marks;
    size_t mark_count;
    /* The number of the first mark of an error that has ended the recording, and 1; 0: none has. */
    size_t ended;
    /* The writer has come to the end: its last two frames are CLOCK and LOST. */
    bool finished;
};

/* Reads the journal at `path`. 0; -ENOMEM; or another negative errno value where the file cannot be
 * read, or is of another version of the format, with the reason. Free it in any case. */
int spex_journal_read(const char *path, struct spex_journal *journal,
                      struct spex_recording_problems *problems, struct spex_error *error);
void spex_journal_free(struct spex_journal *journal);

/* The mark of an error that has ended the recording, at its time; NULL: none has. *why, if it is
 * not NULL, gets the reason. */
const struct spex_recording_mark *spex_journal_ended(const struct spex_journal *journal,
                                                     const char **why);

/* Reads a profile. 0 or a negative errno value, with the reason; free it with
 * spex_profile_free. */
int spex_journal_profile(const struct spex_journal *journal, size_t number,
                         struct spex_profile *profile, struct spex_error *error);

#endif
