/* SPDX-License-Identifier: MIT */
/* The metadata of a trace: what CTF's readers need to know of its streams and events. */
#ifndef SPEX_TRACE_METADATA_H
#define SPEX_TRACE_METADATA_H

#include <stddef.h>

#include "trace/clock_anchor.h"
#include "trace/event_classes.h"

struct spex_metadata {
    const uint8_t *uuid;
    const char *program;
    int process_id;
    struct spex_trace_clock clock;
    const struct spex_event_classes *classes;
};

/* Makes the text, of *length bytes. Free it. NULL: no memory. */
char *spex_metadata_text(const struct spex_metadata *metadata, size_t *length);

#endif
