/* SPDX-License-Identifier: MIT */
/* A line for each record. Values that a record lacks are empty cells. */
#include <errno.h>
#include <stdlib.h>

#include "tools/export/exporter.h"
#include "tools/export/paths.h"
#include "tools/export/text_out.h"

/* As it is in a file, with the columns v0 to v5. */
#define HEADING "time_ns,process,thread,cpu,probe,type,weight,lost,duration_ns,path"

struct csv {
    const struct spex_export *of;
    struct spex_paths paths;
    struct spex_text_out out;
};

static int csv_begin(const struct spex_export *of, void **state, struct spex_error *error) {
    struct csv *csv = calloc(1, sizeof(*csv));
    *state = csv;
    if (!csv)
        return spex_fail(error, -ENOMEM, "out of memory");
    csv->of = of;
    if (spex_paths_make(&csv->paths, of->trace) != 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    csv->out.file = of->out;
    spex_text_out(&csv->out, HEADING);
    for (unsigned v = 0; v < SPEX_MAX_FIELDS; v++) {
        spex_text_out(&csv->out, ",v");
        spex_text_out_number(&csv->out, v);
    }
    spex_text_out(&csv->out, "\n");
    return 0;
}

/* A cell in quotes, in which quotes are doubled. */
static void text_cell(struct spex_text_out *out, const char *text) {
    spex_text_out(out, ",\"");
    for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
        spex_text_out_bytes(out, text, (size_t)(quote - text));
        spex_text_out(out, "\"\"");
    }
    spex_text_out(out, text);
    spex_text_out(out, "\"");
}

static void number_cell(struct spex_text_out *out, uint64_t number) {
    spex_text_out(out, ",");
    spex_text_out_number(out, number);
}

static int csv_event(void *state, const struct spex_recording_event *event,
                     struct spex_error *error) {
    struct csv *csv = state;
    const struct spex_label *label = spex_label_of(csv->of->labels, event);
    const struct spex_record *record = &event->record;
    struct spex_text_out *out = &csv->out;
    bool times = label->time >= 0 && label->time < record->field_count;
    size_t process = spex_label_process(csv->of->labels, event->process);
    spex_text_out_signed(out, spex_recording_ns(csv->of->trace, record->timestamp));
    number_cell(out, csv->of->labels->process_ids[process]);
    number_cell(out, record->thread_id);
    number_cell(out, record->cpu_id);
    text_cell(out, label->name);
    spex_text_out(out, ",");
    spex_text_out(out, label->type);
    number_cell(out, record->weight);
    number_cell(out, record->lost);
    spex_text_out(out, ",");
    if (times)
        spex_text_out_number(
            out, spex_recording_duration_ns(csv->of->trace, record->fields[label->time]));
    if (record->probe_type == SPEX_KERNEL && record->field_count >= SPEX_KERNEL_VALUES) {
        const char *path = spex_path_of(&csv->paths, process, record->fields[1], record->probe_id);
        if (!path)
            return spex_fail(error, -ENOMEM, "out of memory");
        text_cell(out, path);
    } else {
        spex_text_out(out, ",");
    }
    for (unsigned v = 0; v < SPEX_MAX_FIELDS; v++) {
        unsigned field = label->first + v;
        spex_text_out(out, ",");
        if (field < record->field_count)
            spex_text_out_value(out, record->fields[field], spex_kind_at(record->kinds, field));
    }
    spex_text_out(out, "\n");
    return 0;
}

static int csv_end(void *state, struct spex_error *error) {
    (void)error;
    spex_text_out_flush(&((struct csv *)state)->out);
    return 0;
}

static void csv_free(void *state) {
    struct csv *csv = state;
    if (csv)
        spex_paths_free(&csv->paths);
    free(csv);
}

const struct spex_exporter spex_export_csv = {
    .name = "csv", .begin = csv_begin, .event = csv_event, .end = csv_end, .free = csv_free};
