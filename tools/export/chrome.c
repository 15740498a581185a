/* SPDX-License-Identifier: MIT */
/* Chrome's trace format: a JSON object whose "traceEvents" are slices of threads ("X"), beginnings
 * and ends of spans ("b", "e"), counters ("C"), instants ("i") and names ("M"). Times are
 * microseconds from the beginning of the trace. It is printed and not built by jansson, which would
 * keep the whole trace in memory; the parts that are text were made JSON once for each probe. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tools/export/exporter.h"
#include "tools/export/samples.h"
#include "tools/export/text_out.h"
#include "tools/export/tracks.h"

/* A further track of a thread has the thread's number and so much more for each. Linux's numbers
 * are below. */
#define FURTHER_TRACK 10000000u

struct chrome {
    const struct spex_export *of;
    struct spex_tracks *tracks;
    struct spex_sample *samples;
    bool any;
    struct spex_text_out out;
};

static int chrome_begin(const struct spex_export *of, void **state, struct spex_error *error) {
    struct chrome *chrome = calloc(1, sizeof(*chrome));
    *state = chrome;
    if (!chrome)
        return spex_fail(error, -ENOMEM, "out of memory");
    chrome->of = of;
    chrome->tracks = spex_tracks_create(of->labels->count);
    chrome->samples = spex_samples_make(of->labels);
    chrome->out.file = of->out;
    spex_text_out(&chrome->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    return chrome->tracks && chrome->samples ? 0 : spex_fail(error, -ENOMEM, "out of memory");
}

/* Begins an event, "{"ph":"X","pid":…,"tid":…". */
static void event_begin(struct chrome *chrome, const char *phase, size_t process, uint64_t thread) {
    struct spex_text_out *out = &chrome->out;
    spex_text_out(out, chrome->any ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    chrome->any = true;
    spex_text_out(out, phase);
    spex_text_out(out, "\",\"pid\":");
    spex_text_out_number(out, chrome->of->labels->process_ids[process]);
    spex_text_out(out, ",\"tid\":");
    spex_text_out_number(out, thread);
}

static void time_put(struct chrome *chrome, const char *name, int64_t ns) {
    spex_text_out(&chrome->out, name);
    spex_text_out_us(&chrome->out, ns);
}

static void label_put(struct chrome *chrome, const struct spex_label *label) {
    spex_text_out(&chrome->out, ",\"name\":");
    spex_text_out(&chrome->out, label->json);
    spex_text_out(&chrome->out, ",\"cat\":\"");
    spex_text_out(&chrome->out, label->type);
    spex_text_out(&chrome->out, "\"");
}

/* Adds one member of the arguments. */
static void argument_name(struct chrome *chrome, bool *any, const char *name) {
    spex_text_out(&chrome->out, *any ? ",\"" : ",\"args\":{\"");
    *any = true;
    spex_text_out(&chrome->out, name);
    spex_text_out(&chrome->out, "\":");
}

static void argument_put(struct chrome *chrome, bool *any, const char *name, uint64_t value) {
    argument_name(chrome, any, name);
    spex_text_out_number(&chrome->out, value);
}

/* JSON has no number that is not finite: null stands in its place. */
static void value_put(struct chrome *chrome, const struct spex_record *record, unsigned field) {
    unsigned kind = spex_kind_at(record->kinds, field);
    if (isfinite(spex_field_number(record, field)))
        spex_text_out_value(&chrome->out, record->fields[field], kind);
    else
        spex_text_out(&chrome->out, "null");
}

static void event_end(struct chrome *chrome, bool arguments) {
    spex_text_out(&chrome->out, arguments ? "}}" : "}");
}

static void values_put(struct chrome *chrome, const struct spex_label *label,
                       const struct spex_record *record, bool *any) {
    for (unsigned v = 0; v < label->values && label->first + v < record->field_count; v++) {
        argument_name(chrome, any, label->value_names[v]);
        value_put(chrome, record, label->first + v);
    }
}

/* Names a further track after its thread. */
static void track_name(struct chrome *chrome, size_t process, uint32_t thread, unsigned level) {
    char text[96];
    snprintf(text, sizeof(text),
             ",\"name\":\"thread_name\",\"args\":{\"name\":\"%" PRIu32 " (overlapping, %u)\"}}",
             thread, level);
    event_begin(chrome, "M", process, thread + (uint64_t)level * FURTHER_TRACK);
    spex_text_out(&chrome->out, text);
}

/* Beginning or end of a span: an asynchronous event, whose id is that of its track. The thread is
 * the one that ended it. */
static void span_event_put(struct chrome *chrome, size_t process, const struct spex_record *record,
                           const struct spex_label *label, const char *phase, int64_t ns,
                           uint64_t id) {
    bool any = false;
    event_begin(chrome, phase, process, record->thread_id);
    time_put(chrome, ",\"ts\":", ns);
    spex_text_out(&chrome->out, ",\"id\":\"");
    spex_text_out_number(&chrome->out, id);
    spex_text_out(&chrome->out, "\"");
    label_put(chrome, label);
    if (*phase == 'b' && record->weight > 1)
        argument_put(chrome, &any, "weight", record->weight);
    if (*phase == 'b')
        values_put(chrome, label, record, &any);
    event_end(chrome, any);
}

static int slice_put(struct chrome *chrome, const struct spex_recording_event *event,
                     const struct spex_label *label) {
    const struct spex_record *record = &event->record;
    size_t process = spex_label_process(chrome->of->labels, event->process);
    uint64_t ticks = record->fields[label->time];
    uint64_t begin_ticks = ticks < record->timestamp ? record->timestamp - ticks : 0;
    int64_t begin = spex_recording_ns(chrome->of->trace, begin_ticks),
            end = spex_recording_ns(chrome->of->trace, record->timestamp);
    struct spex_track track;
    bool span = record->probe_type == SPEX_SPAN, any = false;
    int err =
        span ? spex_tracks_span(chrome->tracks, label->number, begin, end, &track)
             : spex_tracks_slice(chrome->tracks, process, record->thread_id, begin, end, &track);
    if (err)
        return err;
    if (span) {
        uint64_t id = track.number - SPEX_TRACKS_SPANS;
        span_event_put(chrome, process, record, label, "b", begin, id);
        span_event_put(chrome, process, record, label, "e", end, id);
        return 0;
    }
    if (track.fresh && track.level)
        track_name(chrome, process, record->thread_id, track.level);
    event_begin(chrome, "X", process, record->thread_id + (uint64_t)track.level * FURTHER_TRACK);
    time_put(chrome, ",\"ts\":", begin);
    time_put(chrome, ",\"dur\":", end - begin);
    label_put(chrome, label);
    if (record->weight > 1)
        argument_put(chrome, &any, "weight", record->weight);
    values_put(chrome, label, record, &any);
    event_end(chrome, any);
    return 0;
}

/* A counter has all values of the record; that of a probe that counts has its executions so far. */
static void counter_put(struct chrome *chrome, const struct spex_recording_event *event,
                        const struct spex_label *label, const struct spex_sample *sample) {
    const struct spex_record *record = &event->record;
    bool any = false, counts = record->probe_type == SPEX_CNT;
    if (!counts && record->field_count <= label->first)
        return;
    event_begin(chrome, "C", spex_label_process(chrome->of->labels, event->process),
                record->thread_id);
    time_put(chrome, ",\"ts\":", spex_recording_ns(chrome->of->trace, record->timestamp));
    label_put(chrome, label);
    if (counts)
        argument_put(chrome, &any, "executions", sample->weight);
    else
        values_put(chrome, label, record, &any);
    event_end(chrome, any);
}

static int chrome_event(void *state, const struct spex_recording_event *event,
                        struct spex_error *error) {
    struct chrome *chrome = state;
    const struct spex_label *label = spex_label_of(chrome->of->labels, event);
    struct spex_sample *sample = spex_samples_add(chrome->samples, label, &event->record);
    int err = 0;
    if (label->time >= 0 && label->time < event->record.field_count)
        err = slice_put(chrome, event, label);
    else
        counter_put(chrome, event, label, sample);
    return err < 0 ? spex_fail(error, err, "out of memory") : 0;
}

/* A text of the trace as a string; an empty one where memory is short. */
static void text_put(struct chrome *chrome, const char *text) {
    char *json = spex_json_string(text);
    spex_text_out(&chrome->out, json ? json : "\"\"");
    free(json);
}

/* The program's name, and an instant for each mark within the limits. */
static void process_put(struct chrome *chrome, size_t p) {
    const struct spex_recording_process *process = &chrome->of->trace->processes[p];
    event_begin(chrome, "M", p, 0);
    spex_text_out(&chrome->out, ",\"name\":\"process_name\",\"args\":{\"name\":");
    text_put(chrome, process->program);
    spex_text_out(&chrome->out, "}}");
    for (size_t m = 0; m < process->journal.mark_count; m++) {
        const struct spex_recording_mark *mark = &process->journal.marks[m];
        if (mark->ticks < chrome->of->from || mark->ticks >= chrome->of->to)
            continue;
        event_begin(chrome, "i", p, 0);
        time_put(chrome, ",\"s\":\"p\",\"ts\":", spex_recording_ns(chrome->of->trace, mark->ticks));
        spex_text_out(&chrome->out, ",\"name\":");
        text_put(chrome, mark->text);
        spex_text_out(&chrome->out, "}");
    }
}

/* What the records of a probe stand for. */
static void sample_put(struct chrome *chrome, size_t p, const struct spex_label *label, bool *any) {
    const struct spex_sample *sample = &chrome->samples[label->number];
    struct spex_text_out *out = &chrome->out;
    if (!sample->records)
        return;
    spex_text_out(out, *any ? ",\n{\"pid\":" : "\n{\"pid\":");
    *any = true;
    spex_text_out_number(out, chrome->of->labels->process_ids[p]);
    spex_text_out(out, ",\"probe\":");
    spex_text_out(out, label->json);
    spex_text_out(out, ",\"type\":\"");
    spex_text_out(out, label->type);
    spex_text_out(out, "\",\"records\":");
    spex_text_out_number(out, sample->records);
    spex_text_out(out, ",\"executions\":");
    spex_text_out_number(out, sample->weight);
    spex_text_out(out, "}");
}

static void other_data_put(struct chrome *chrome) {
    const struct spex_recording *trace = chrome->of->trace;
    struct spex_text_out *out = &chrome->out;
    bool any = false;
    uint64_t lost = 0;
    for (size_t p = 0; p < trace->process_count; p++)
        lost += spex_recording_process_lost(&trace->processes[p]);
    spex_text_out(out, "\n],\"otherData\":{\"begin_realtime_ns\":");
    spex_text_out_number(out, trace->begin_realtime_ns);
    spex_text_out(out, ",\"lost_records\":");
    spex_text_out_number(out, lost);
    spex_text_out(out, ",\"slices_left_out\":");
    spex_text_out_number(out, spex_tracks_left_out(chrome->tracks));
    spex_text_out(out, ",\"probes\":[");
    for (size_t p = 0; p < trace->process_count; p++)
        for (size_t c = 0; c < trace->processes[p].journal.class_count; c++)
            sample_put(chrome, p, &chrome->of->labels->of[p][c], &any);
    spex_text_out(out, "]}}\n");
}

static int chrome_end(void *state, struct spex_error *error) {
    struct chrome *chrome = state;
    (void)error;
    spex_tracks_tell(chrome->tracks);
    for (size_t p = 0; p < chrome->of->trace->process_count; p++)
        process_put(chrome, p);
    other_data_put(chrome);
    spex_text_out_flush(&chrome->out);
    return 0;
}

static void chrome_free(void *state) {
    struct chrome *chrome = state;
    if (!chrome)
        return;
    spex_tracks_destroy(chrome->tracks);
    free(chrome->samples);
    free(chrome);
}

const struct spex_exporter spex_export_chrome = {.name = "chrome",
                                                 .begin = chrome_begin,
                                                 .event = chrome_event,
                                                 .end = chrome_end,
                                                 .free = chrome_free};
