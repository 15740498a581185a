/* SPDX-License-Identifier: MIT */
/* The classes of a trace's events: one for each probe, and number of values that its records have;
 * and the events of each, which differ by their layouts. Knows what the program has told of its
 * sites. */
#ifndef SPEX_TRACE_EVENT_CLASSES_H
#define SPEX_TRACE_EVENT_CLASSES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <spex/record.h>

#include "base/memory/growing_text.h"
#include "ring/probe_type.h"
#include "trace/trace_format.h"

/* All zero: none. */
struct spex_event_classes {
    struct spex_stream_site *sites;
    size_t site_count;
    struct spex_event_class {
        /* As its events have it. */
        struct spex_journal_event event;
        /* 1 + the next class of the same probe number; 0: none. */
        uint32_t next;
        /* 1 + the id of the event with each layout; 0: there is none yet. */
        uint32_t ids[SPEX_TRACE_LAYOUTS];
    } * classes;
    uint32_t count;
    /* By id. */
    struct spex_journal_event *events;
    uint32_t event_count;
    /* 1 + the first class of each probe number; NULL: no class yet. */
    uint32_t *by_probe;
};

void spex_event_classes_free(struct spex_event_classes *classes);

/* Copies sites. Texts of the program are made printable. 0 or -ENOMEM. */
int spex_event_classes_sites(struct spex_event_classes *classes,
                             const struct spex_stream_site *sites, size_t count);

static inline uint16_t spex_event_values(const struct spex_record *record) {
    return (uint16_t)(record->field_count - spex_probe_type_first_value(record->probe_type));
}

/* The class of a record; NULL: there is none yet. */
static inline struct spex_event_class *spex_event_class_find(
    const struct spex_event_classes *classes, const struct spex_record *record) {
    uint32_t next = classes->by_probe ? classes->by_probe[record->probe_id] : 0;
    for (uint16_t values = spex_event_values(record); next;
         next = classes->classes[next - 1].next) {
        struct spex_event_class *class = &classes->classes[next - 1];
        if (class->event.probe_type == record->probe_type && class->event.values == values &&
            class->event.kinds == record->kinds)
            return class;
    }
    return NULL;
}

/* Returns the id of a record's event with this layout; -1: there is none yet. */
static inline int32_t spex_event_find(const struct spex_event_classes *classes,
                                      const struct spex_record *record, unsigned layout) {
    const struct spex_event_class *class = spex_event_class_find(classes, record);
    return class ? (int32_t) class->ids[layout] - 1 : -1;
}

/* Makes it, and its class. Returns the id, or -ENOMEM, -EOVERFLOW: there are too many. */
int32_t spex_event_add(struct spex_event_classes *classes, const struct spex_record *record,
                       unsigned layout);

/* Writes an event in the language of CTF's metadata. */
void spex_event_print(const struct spex_event_classes *classes, uint32_t id,
                      struct spex_growing_text *to);

#endif
