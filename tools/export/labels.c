/* SPDX-License-Identifier: MIT */
#include "tools/export/labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel_paths.h"
#include "profile/table.h"
#include "ring/probe_type.h"

/* A process with the number of an earlier one gets this much more. Linux's numbers are below. */
#define OTHER_PROCESS 10000000u

/* Texts of a trace are printable UTF-8 without control characters: quotes and backslashes are
 * left. */
char *spex_json_string(const char *text) {
    char *json = malloc(2 * strlen(text) + 3), *at = json;
    if (!json)
        return NULL;
    *at++ = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            *at++ = '\\';
        *at++ = *text;
    }
    *at++ = '"';
    *at = '\0';
    return json;
}

/* Quotes and backslashes in names of parameters become "_". */
static char *plain_name(const char *text) {
    char *name = strdup(text);
    for (char *at = name; at && *at; at++)
        if (*at == '"' || *at == '\\')
            *at = '_';
    return name;
}

static int value_name_add(struct spex_label *label, const char *text) {
    char *name = plain_name(text);
    if (!name)
        return -ENOMEM;
    label->value_names[label->values++] = name;
    return 0;
}

/* The names of a kernel's parameters; "v0" and so on where the trace does not tell. */
static int kernel_values(struct spex_label *label, const struct spex_recording_process *process,
                         const struct spex_recording_class *class) {
    struct spex_kernels_known known = spex_recording_kernels(process);
    struct spex_kernel_described *described = malloc(sizeof(*described));
    struct spex_error ignored;
    if (!described)
        return -ENOMEM;
    int err = 0;
    size_t names = 0;
    if (spex_kernel_describe_context(&known, SPEX_CONTEXT_ROOT, class->probe_id, described,
                                     &ignored) == 0)
        names = described->count;
    label->first = SPEX_KERNEL_VALUES;
    for (unsigned v = 0;
         !err && v + SPEX_KERNEL_VALUES < class->values && v < SPEX_KERNEL_PARAMETERS; v++)
        err = value_name_add(label,
                             v < names ? described->names[v] : spex_value_name(SPEX_SNAPSHOT, v));
    free(described);
    return err;
}

static int values_label(struct spex_label *label, const struct spex_recording_process *process,
                        const struct spex_recording_class *class) {
    unsigned first = spex_probe_type_first_value(class->probe_type);
    label->time = spex_probe_type_ticks(class->probe_type) && class->values ? (int)first : -1;
    label->first = first + (label->time >= 0);
    if (class->probe_type == SPEX_KERNEL)
        return kernel_values(label, process, class);
    int err = 0;
    for (unsigned v = label->time >= 0; !err && v < class->values && first + v < SPEX_MAX_FIELDS;
         v++)
        err = value_name_add(
            label, class->probe_type == SPEX_SPAN ? "key" : spex_value_name(class->probe_type, v));
    return err;
}

static int label_make(struct spex_labels *labels, size_t process, size_t class) {
    const struct spex_recording_process *of = &labels->trace->processes[process];
    const struct spex_recording_class *what = &of->journal.classes[class];
    struct spex_label *label = &labels->of[process][class];
    char text[2 * SPEX_STREAM_TEXT_BYTES + 2];
    label->number = labels->count++;
    if (!what->known)
        return 0;
    label->name = strdup(spex_recording_probe_text(of, what, text, sizeof(text)));
    label->json = spex_json_string(text);
    label->type = spex_probe_type_name(what->probe_type);
    return label->name && label->json ? values_label(label, of, what) : -ENOMEM;
}

/* A number that no process before this one has. */
static uint64_t process_id_of(const struct spex_labels *labels, size_t process) {
    uint64_t id = labels->trace->processes[process].process_id;
    for (size_t p = 0; p < process; p++)
        if (labels->trace->processes[p].process_id == labels->trace->processes[process].process_id)
            id += OTHER_PROCESS;
    return id;
}

int spex_labels_make(struct spex_labels *labels, const struct spex_recording *trace) {
    *labels = (struct spex_labels){.trace = trace};
    labels->of = calloc(trace->process_count + 1, sizeof(struct spex_label *));
    labels->process_ids = calloc(trace->process_count + 1, sizeof(*labels->process_ids));
    int err = labels->of && labels->process_ids ? 0 : -ENOMEM;
    for (size_t p = 0; !err && p < trace->process_count; p++) {
        size_t classes = trace->processes[p].journal.class_count;
        labels->process_ids[p] = process_id_of(labels, p);
        labels->of[p] = calloc(classes + 1, sizeof(*labels->of[p]));
        if (!labels->of[p])
            return -ENOMEM;
        for (size_t c = 0; !err && c < classes; c++)
            err = label_make(labels, p, c);
    }
    return err;
}

void spex_labels_free(struct spex_labels *labels) {
    for (size_t p = 0; labels->of && p < labels->trace->process_count; p++) {
        for (size_t c = 0; labels->of[p] && c < labels->trace->processes[p].journal.class_count;
             c++) {
            struct spex_label *label = &labels->of[p][c];
            free(label->name);
            free(label->json);
            for (unsigned v = 0; v < label->values; v++)
                free(label->value_names[v]);
        }
        free(labels->of[p]);
    }
    free(labels->of);
    free(labels->process_ids);
}
