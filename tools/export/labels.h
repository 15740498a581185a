/* SPDX-License-Identifier: MIT */
/* What the classes of a trace's events and their values are called, found once for each. */
#ifndef SPEX_TOOLS_EXPORT_LABELS_H
#define SPEX_TOOLS_EXPORT_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/read/recording.h"

struct spex_label {
    /* "parse", or "liba/parse" where the process has several providers. NULL: there is no such
     * class. */
    char *name;
    /* The same as a JSON string, with its quotes. */
    char *json;
    const char *type;
    /* The values beside times and weights: their names, printable and without quotes or
     * backslashes. */
    unsigned values;
    char *value_names[SPEX_MAX_FIELDS];
    /* The number of the first of them in a record's fields. */
    unsigned first;
    /* The number of the time; -1: there is none. */
    int time;
    /* The class's number over all processes. */
    size_t number;
};

struct spex_labels {
    /* By process, then by class. */
    struct spex_label **of;
    const struct spex_recording *trace;
    /* Numbers of processes that differ, also where a number was used again. */
    uint64_t *process_ids;
    size_t count;
};

/* 0 or -ENOMEM. Free them in any case. */
int spex_labels_make(struct spex_labels *labels, const struct spex_recording *trace);
void spex_labels_free(struct spex_labels *labels);

/* A JSON string, to be freed; NULL: no memory. */
char *spex_json_string(const char *text);

static inline size_t spex_label_process(const struct spex_labels *labels,
                                        const struct spex_recording_process *process) {
    return (size_t)(process - labels->trace->processes);
}

static inline const struct spex_label *spex_label_of(const struct spex_labels *labels,
                                                     const struct spex_recording_event *event) {
    return &labels->of[spex_label_process(labels, event->process)]
                      [event->class - event->process->journal.classes];
}

#endif
