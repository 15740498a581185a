/* SPDX-License-Identifier: MIT */
/* Perfetto's trace format: packets of protobuf. A slice is two packets, which need not stand in the
 * order of their times. Names are sent once and referred to by number. Times are nanoseconds since
 * 1970, and a snapshot of clocks says so. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "ring/field_value.h"
#include "tools/export/exporter.h"
#include "tools/export/samples.h"
#include "tools/export/tracks.h"
#include <perfetto.pb-c.h>

typedef Spex__Perfetto__TracePacket packet_t;
typedef Spex__Perfetto__TrackEvent event_t;
typedef Spex__Perfetto__TrackDescriptor track_t;
typedef Spex__Perfetto__DebugAnnotation annotation_t;

/* Numbers of tracks: those of tracks.h from 1 on, and in ranges of their own those of processes and
 * of counters, which are numbered by label and value. */
#define PROCESS_TRACKS (UINT64_C(1) << 40)
#define COUNTER_TRACKS (UINT64_C(2) << 40)

/* Clocks of clock_snapshot.proto: what times are by default, and CLOCK_REALTIME. */
enum { CLOCK_DEFAULT = 6, CLOCK_WALL = 1 };

/* sequence_flags: interned names are forgotten, and are needed. */
enum { NAMES_CLEARED = 1, NAMES_NEEDED = 2 };

enum { PACKET_BYTES_MAX = 1 << 16, BUFFER_BYTES = 1 << 18 };

struct perfetto {
    const struct spex_export *of;
    struct spex_tracks *tracks;
    struct spex_sample *samples;
    /* By the number of the label: its name was sent, and its counters' tracks. */
    bool *named;
    size_t used;
    uint8_t buffer[BUFFER_BYTES];
};

/* What a slice may have beside its values, numbered behind them: the executions that it stands for,
 * and of a span the thread that ended it. */
enum { WEIGHT = SPEX_MAX_FIELDS, THREAD, NAMED };

/* The name of a label's value, or of one of these. */
static uint64_t value_iid(const struct spex_label *label, unsigned value) {
    return label->number * NAMED + value + 1;
}

static void buffer_flush(struct perfetto *perfetto) {
    fwrite(perfetto->buffer, 1, perfetto->used, perfetto->of->out);
    perfetto->used = 0;
}

/* Writes `Trace.packet`: its tag, its length, and the packet. */
static int packet_put(struct perfetto *perfetto, packet_t *packet, struct spex_error *error) {
    packet->has_trusted_packet_sequence_id = true;
    packet->trusted_packet_sequence_id = 1;
    size_t length = spex__perfetto__trace_packet__get_packed_size(packet);
    if (length > PACKET_BYTES_MAX)
        return spex_fail(error, -E2BIG, "a packet is longer than %d bytes", PACKET_BYTES_MAX);
    if (length + 4 > sizeof(perfetto->buffer) - perfetto->used)
        buffer_flush(perfetto);
    uint8_t *at = perfetto->buffer + perfetto->used;
    *at++ = 1 << 3 | 2;
    for (size_t rest = length; rest || at == perfetto->buffer + perfetto->used + 1; rest >>= 7)
        *at++ = (uint8_t)(rest & 0x7f) | (rest > 0x7f ? 0x80 : 0);
    at += spex__perfetto__trace_packet__pack(packet, at);
    perfetto->used = (size_t)(at - perfetto->buffer);
    return 0;
}

static uint64_t wall_ns(const struct perfetto *perfetto, uint64_t ticks) {
    return perfetto->of->trace->begin_realtime_ns +
           (uint64_t)spex_recording_ns(perfetto->of->trace, ticks);
}

static int event_put(struct perfetto *perfetto, uint64_t ns, event_t *event,
                     struct spex_error *error) {
    packet_t packet = SPEX__PERFETTO__TRACE_PACKET__INIT;
    packet.has_timestamp = true;
    packet.timestamp = ns;
    packet.has_sequence_flags = true;
    packet.sequence_flags = NAMES_NEEDED;
    packet.track_event = event;
    return packet_put(perfetto, &packet, error);
}

static int track_put(struct perfetto *perfetto, track_t *track, struct spex_error *error) {
    packet_t packet = SPEX__PERFETTO__TRACE_PACKET__INIT;
    packet.track_descriptor = track;
    return packet_put(perfetto, &packet, error);
}

static int process_track_put(struct perfetto *perfetto, size_t p, struct spex_error *error) {
    Spex__Perfetto__ProcessDescriptor process = SPEX__PERFETTO__PROCESS_DESCRIPTOR__INIT;
    track_t track = SPEX__PERFETTO__TRACK_DESCRIPTOR__INIT;
    process.has_pid = true;
    process.pid = (int32_t)perfetto->of->labels->process_ids[p];
    process.process_name = perfetto->of->trace->processes[p].program;
    track.has_uuid = true;
    track.uuid = PROCESS_TRACKS + p;
    track.process = &process;
    return track_put(perfetto, &track, error);
}

/* A thread's own track; a further one is below its process, and named after the thread. */
static int thread_track_put(struct perfetto *perfetto, size_t p, uint32_t id,
                            const struct spex_track *place, struct spex_error *error) {
    Spex__Perfetto__ThreadDescriptor thread = SPEX__PERFETTO__THREAD_DESCRIPTOR__INIT;
    track_t track = SPEX__PERFETTO__TRACK_DESCRIPTOR__INIT;
    char name[64];
    snprintf(name, sizeof(name), "%" PRIu32 " (overlapping, %u)", id, place->level);
    thread.has_pid = thread.has_tid = true;
    thread.pid = (int32_t)perfetto->of->labels->process_ids[p];
    thread.tid = (int32_t)id;
    track.has_uuid = track.has_parent_uuid = true;
    track.uuid = place->number;
    track.parent_uuid = PROCESS_TRACKS + p;
    if (place->level)
        track.name = name;
    else
        track.thread = &thread;
    return track_put(perfetto, &track, error);
}

/* A track of spans. Readers show those of the same name and process together. */
static int span_track_put(struct perfetto *perfetto, size_t p, const struct spex_label *label,
                          const struct spex_track *place, struct spex_error *error) {
    track_t track = SPEX__PERFETTO__TRACK_DESCRIPTOR__INIT;
    track.has_uuid = track.has_parent_uuid = true;
    track.uuid = place->number;
    track.parent_uuid = PROCESS_TRACKS + p;
    track.name = label->name;
    return track_put(perfetto, &track, error);
}

static int snapshot_put(struct perfetto *perfetto, struct spex_error *error) {
    packet_t packet = SPEX__PERFETTO__TRACE_PACKET__INIT;
    Spex__Perfetto__ClockSnapshot snapshot = SPEX__PERFETTO__CLOCK_SNAPSHOT__INIT;
    Spex__Perfetto__ClockSnapshot__Clock clocks[2] = {SPEX__PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT,
                                                      SPEX__PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT};
    Spex__Perfetto__ClockSnapshot__Clock *list[2] = {&clocks[0], &clocks[1]};
    for (unsigned c = 0; c < 2; c++) {
        clocks[c].has_clock_id = clocks[c].has_timestamp = true;
        clocks[c].clock_id = c ? CLOCK_WALL : CLOCK_DEFAULT;
        clocks[c].timestamp = perfetto->of->trace->begin_realtime_ns;
    }
    snapshot.n_clocks = 2;
    snapshot.clocks = list;
    packet.clock_snapshot = &snapshot;
    packet.has_sequence_flags = true;
    packet.sequence_flags = NAMES_CLEARED;
    return packet_put(perfetto, &packet, error);
}

static int perfetto_begin(const struct spex_export *of, void **state, struct spex_error *error) {
    struct perfetto *perfetto = calloc(1, sizeof(*perfetto));
    *state = perfetto;
    if (!perfetto)
        return spex_fail(error, -ENOMEM, "out of memory");
    perfetto->of = of;
    perfetto->tracks = spex_tracks_create(of->labels->count);
    perfetto->samples = spex_samples_make(of->labels);
    perfetto->named = calloc(of->labels->count + 1, sizeof(*perfetto->named));
    if (!perfetto->tracks || !perfetto->samples || !perfetto->named)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = snapshot_put(perfetto, error);
    for (size_t p = 0; !err && p < of->trace->process_count; p++)
        err = process_track_put(perfetto, p, error);
    return err;
}

/* The number of a label's counter track. */
static uint64_t counter_track(const struct spex_label *label, unsigned value) {
    return COUNTER_TRACKS + value_iid(label, value);
}

/* A counter's track: "queue: v0", or with one value "faults". */
static int counter_track_put(struct perfetto *perfetto, size_t p, const struct spex_label *label,
                             unsigned value, struct spex_error *error) {
    Spex__Perfetto__CounterDescriptor counter = SPEX__PERFETTO__COUNTER_DESCRIPTOR__INIT;
    track_t track = SPEX__PERFETTO__TRACK_DESCRIPTOR__INIT;
    const char *of = value < label->values ? label->value_names[value] : "executions";
    char name[512];
    snprintf(name, sizeof(name), "%s: %s", label->name, of);
    track.has_uuid = track.has_parent_uuid = true;
    track.uuid = counter_track(label, value);
    track.parent_uuid = PROCESS_TRACKS + p;
    track.name = name;
    track.counter = &counter;
    return track_put(perfetto, &track, error);
}

static const char *value_name(const struct spex_label *label, unsigned value) {
    return value == WEIGHT ? "weight" : value == THREAD ? "thread" : label->value_names[value];
}

/* Sends the names of a probe and of its values before its first event. */
static int names_put(struct perfetto *perfetto, const struct spex_label *label,
                     struct spex_error *error) {
    packet_t packet = SPEX__PERFETTO__TRACE_PACKET__INIT;
    Spex__Perfetto__InternedData names = SPEX__PERFETTO__INTERNED_DATA__INIT;
    Spex__Perfetto__EventName event = SPEX__PERFETTO__EVENT_NAME__INIT, *events = &event;
    Spex__Perfetto__DebugAnnotationName values[NAMED], *list[NAMED];
    size_t count = 0;
    event.has_iid = true;
    event.iid = label->number + 1;
    event.name = label->name;
    for (unsigned v = 0; v < NAMED; v++) {
        if (v >= label->values && v < WEIGHT)
            continue;
        spex__perfetto__debug_annotation_name__init(&values[count]);
        values[count].has_iid = true;
        values[count].iid = value_iid(label, v);
        values[count].name = (char *)(uintptr_t)value_name(label, v);
        list[count] = &values[count];
        count++;
    }
    names.n_event_names = 1;
    names.event_names = &events;
    names.n_debug_annotation_names = count;
    names.debug_annotation_names = list;
    packet.interned_data = &names;
    packet.has_sequence_flags = true;
    packet.sequence_flags = NAMES_NEEDED;
    return packet_put(perfetto, &packet, error);
}

static int label_introduce(struct perfetto *perfetto, size_t p, const struct spex_label *label,
                           struct spex_error *error) {
    if (perfetto->named[label->number])
        return 0;
    perfetto->named[label->number] = true;
    if (label->time >= 0)
        return names_put(perfetto, label, error);
    int err = 0;
    for (unsigned v = 0; !err && v < (label->values ? label->values : 1); v++)
        err = counter_track_put(perfetto, p, label, v, error);
    return err;
}

static void annotation_set(annotation_t *annotation, uint64_t bits, unsigned kind) {
    annotation->has_uint_value = kind != SPEX_KIND_SIGNED && kind != SPEX_KIND_FLOATING;
    annotation->uint_value = bits;
    annotation->has_int_value = kind == SPEX_KIND_SIGNED;
    annotation->int_value = (int64_t)bits;
    annotation->has_double_value = kind == SPEX_KIND_FLOATING;
    annotation->double_value = spex_bits_double(bits);
}

/* Whether a slice has this value, of the weight whether it stands for others, too. */
static bool value_of(const struct spex_label *label, const struct spex_record *record,
                     unsigned value, uint64_t *number, unsigned *kind) {
    *kind = SPEX_KIND_UNSIGNED;
    if (value == WEIGHT) {
        *number = record->weight;
        return record->weight > 1;
    }
    if (value == THREAD) {
        *number = record->thread_id;
        return record->probe_type == SPEX_SPAN;
    }
    if (value >= label->values || label->first + value >= record->field_count)
        return false;
    *number = record->fields[label->first + value];
    *kind = spex_kind_at(record->kinds, label->first + value);
    return true;
}

/* Fills in what a slice has beside its time. Returns how many. */
static size_t annotate(const struct spex_label *label, const struct spex_record *record,
                       annotation_t *annotations, annotation_t **list) {
    size_t count = 0;
    for (unsigned v = 0; v < NAMED; v++) {
        uint64_t number;
        unsigned kind;
        if (!value_of(label, record, v, &number, &kind))
            continue;
        annotation_t *annotation = &annotations[count];
        *annotation = (annotation_t)SPEX__PERFETTO__DEBUG_ANNOTATION__INIT;
        annotation->has_name_iid = true;
        annotation->name_iid = value_iid(label, v);
        annotation_set(annotation, number, kind);
        list[count++] = annotation;
    }
    return count;
}

/* Finds the track of a slice, and tells of it before its first one. 0; 1: there is none; or a
 * negative errno value. */
static int track_find(struct perfetto *perfetto, size_t p, const struct spex_record *record,
                      const struct spex_label *label, const int64_t times[2],
                      struct spex_track *track, struct spex_error *error) {
    bool span = record->probe_type == SPEX_SPAN;
    int err =
        span ? spex_tracks_span(perfetto->tracks, label->number, times[0], times[1], track)
             : spex_tracks_slice(perfetto->tracks, p, record->thread_id, times[0], times[1], track);
    if (err)
        return err < 0 ? spex_fail(error, err, "out of memory") : err;
    if (!track->fresh)
        return 0;
    return span ? span_track_put(perfetto, p, label, track, error)
                : thread_track_put(perfetto, p, record->thread_id, track, error);
}

static int slice_put(struct perfetto *perfetto, size_t p, const struct spex_record *record,
                     const struct spex_label *label, struct spex_error *error) {
    annotation_t annotations[NAMED], *list[NAMED];
    uint64_t ticks = record->fields[label->time];
    uint64_t begin = wall_ns(perfetto, ticks < record->timestamp ? record->timestamp - ticks : 0);
    uint64_t end = wall_ns(perfetto, record->timestamp);
    struct spex_track track;
    int err = track_find(perfetto, p, record, label, (int64_t[2]){(int64_t)begin, (int64_t)end},
                         &track, error);
    if (err)
        return err < 0 ? err : 0;
    event_t event = SPEX__PERFETTO__TRACK_EVENT__INIT;
    event.has_type = event.has_track_uuid = event.has_name_iid = true;
    event.type = SPEX__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
    event.track_uuid = track.number;
    event.name_iid = label->number + 1;
    event.n_debug_annotations = annotate(label, record, annotations, list);
    event.debug_annotations = list;
    err = event_put(perfetto, begin, &event, error);
    event.type = SPEX__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
    event.has_name_iid = false;
    event.n_debug_annotations = 0;
    return err ? err : event_put(perfetto, end, &event, error);
}

static int counter_put(struct perfetto *perfetto, const struct spex_label *label, unsigned value,
                       uint64_t ticks, uint64_t amount, unsigned kind, struct spex_error *error) {
    event_t event = SPEX__PERFETTO__TRACK_EVENT__INIT;
    event.has_type = event.has_track_uuid = true;
    event.type = SPEX__PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER;
    event.track_uuid = counter_track(label, value);
    bool integer = kind == SPEX_KIND_SIGNED || (kind != SPEX_KIND_FLOATING && amount <= INT64_MAX);
    event.has_counter_value = integer;
    event.counter_value = (int64_t)amount;
    event.has_double_counter_value = !integer;
    event.double_counter_value = spex_bits_number(amount, kind);
    return event_put(perfetto, wall_ns(perfetto, ticks), &event, error);
}

static int perfetto_event(void *state, const struct spex_recording_event *event,
                          struct spex_error *error) {
    struct perfetto *perfetto = state;
    const struct spex_label *label = spex_label_of(perfetto->of->labels, event);
    const struct spex_record *record = &event->record;
    size_t p = spex_label_process(perfetto->of->labels, event->process);
    const struct spex_sample *sample = spex_samples_add(perfetto->samples, label, record);
    int err = label_introduce(perfetto, p, label, error);
    if (!err && label->time >= 0)
        return label->time < record->field_count ? slice_put(perfetto, p, record, label, error) : 0;
    if (!err && record->probe_type == SPEX_CNT)
        return counter_put(perfetto, label, 0, record->timestamp, sample->weight,
                           SPEX_KIND_UNSIGNED, error);
    for (unsigned v = 0; !err && v < label->values && label->first + v < record->field_count; v++)
        err = counter_put(perfetto, label, v, record->timestamp, record->fields[label->first + v],
                          spex_kind_at(record->kinds, label->first + v), error);
    return err;
}

/* An instant on a process's track. */
static int instant_put(struct perfetto *perfetto, size_t p, uint64_t ticks, const char *name,
                       annotation_t **annotations, size_t count, struct spex_error *error) {
    event_t event = SPEX__PERFETTO__TRACK_EVENT__INIT;
    event.has_type = event.has_track_uuid = true;
    event.type = SPEX__PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT;
    event.track_uuid = PROCESS_TRACKS + p;
    event.name = (char *)(uintptr_t)name;
    event.n_debug_annotations = count;
    event.debug_annotations = annotations;
    return event_put(perfetto, wall_ns(perfetto, ticks), &event, error);
}

static int number_note(struct perfetto *perfetto, size_t p, const char *name, uint64_t number,
                       struct spex_error *error) {
    annotation_t annotation = SPEX__PERFETTO__DEBUG_ANNOTATION__INIT, *list = &annotation;
    annotation.name = (char *)(uintptr_t) "number";
    annotation.has_uint_value = true;
    annotation.uint_value = number;
    return instant_put(perfetto, p, perfetto->of->trace->begin, name, &list, 1, error);
}

/* Says of each sampled probe what its records stand for, in an instant at the beginning. */
static int sample_note(struct perfetto *perfetto, size_t p, const struct spex_label *label,
                       struct spex_error *error) {
    const struct spex_sample *sample = &perfetto->samples[label->number];
    annotation_t annotations[2] = {SPEX__PERFETTO__DEBUG_ANNOTATION__INIT,
                                   SPEX__PERFETTO__DEBUG_ANNOTATION__INIT};
    annotation_t *list[2] = {&annotations[0], &annotations[1]};
    char name[512];
    if (sample->weight <= sample->records)
        return 0;
    snprintf(name, sizeof(name), "%s (%s) is sampled", label->name, label->type);
    annotations[0].name = (char *)(uintptr_t) "records";
    annotations[1].name = (char *)(uintptr_t) "executions";
    annotations[0].has_uint_value = annotations[1].has_uint_value = true;
    annotations[0].uint_value = sample->records;
    annotations[1].uint_value = sample->weight;
    return instant_put(perfetto, p, perfetto->of->trace->begin, name, list, 2, error);
}

static int process_notes(struct perfetto *perfetto, size_t p, struct spex_error *error) {
    const struct spex_recording_process *process = &perfetto->of->trace->processes[p];
    uint64_t lost = spex_recording_process_lost(process);
    int err = lost ? number_note(perfetto, p, "lost records", lost, error) : 0;
    for (size_t c = 0; !err && c < process->journal.class_count; c++)
        err = sample_note(perfetto, p, &perfetto->of->labels->of[p][c], error);
    for (size_t m = 0; !err && m < process->journal.mark_count; m++) {
        const struct spex_recording_mark *mark = &process->journal.marks[m];
        if (mark->ticks >= perfetto->of->from && mark->ticks < perfetto->of->to)
            err = instant_put(perfetto, p, mark->ticks, mark->text, NULL, 0, error);
    }
    return err;
}

static int perfetto_end(void *state, struct spex_error *error) {
    struct perfetto *perfetto = state;
    uint64_t left_out = spex_tracks_left_out(perfetto->tracks);
    int err = left_out ? number_note(perfetto, 0, "slices left out", left_out, error) : 0;
    spex_tracks_tell(perfetto->tracks);
    for (size_t p = 0; !err && p < perfetto->of->trace->process_count; p++)
        err = process_notes(perfetto, p, error);
    buffer_flush(perfetto);
    return err;
}

static void perfetto_free(void *state) {
    struct perfetto *perfetto = state;
    if (!perfetto)
        return;
    spex_tracks_destroy(perfetto->tracks);
    free(perfetto->samples);
    free(perfetto->named);
    free(perfetto);
}

const struct spex_exporter spex_export_perfetto = {.name = "perfetto",
                                                   .binary = true,
                                                   .begin = perfetto_begin,
                                                   .event = perfetto_event,
                                                   .end = perfetto_end,
                                                   .free = perfetto_free};
