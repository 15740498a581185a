/* SPDX-License-Identifier: MIT */
/* A batch waits with the others of its CPU until the watermark has passed it. Then its records
 * become events, in the order of their time. A record that comes after later ones of its CPU were
 * written goes to the stream of late ones, where it waits for a second more, so that few of its
 * files go back in time. */
#define _GNU_SOURCE
#include "trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <spex/ticks.h>

#include "base/clock.h"
#include "base/memory/memory.h"
#include "text/waits.h"
#include "trace/clock_anchor.h"
#include "trace/journal.h"
#include "trace/metadata.h"
#include "trace/profiles.h"
#include "trace/trace_stream.h"

/* CPUs that have a stream of their own; the records of others are late ones. */
#define CPUS_MAX 1024

/* Records that wait, of all CPUs: what is more does not wait for the watermark. */
#define WAITING_MAX ((size_t)1 << 18)

/* Packets are written at least so often, and the clocks noted. */
#define STORE_NS UINT64_C(1000000000)

/* Set aside for the end of the journal: why the recording has ended, and the last profile, which
 * tells what was executed after that. */
#define JOURNAL_END_BYTES 65536

/* For the first rate of the ticks. */
#define BASELINE_NS UINT64_C(2000000)

struct spex_trace {
    struct spex_trace_disk *disk;
    uint64_t rotate_bytes;
    uint64_t rotate_ns;
    char *directory;
    char *program;
    int process_id;
    uint8_t uuid[SPEX_TRACE_UUID_BYTES];
    struct spex_event_classes classes;
    /* A class is not in the metadata yet. */
    bool classes_new;
    struct spex_journal_clock first;
    bool whole;
    struct spex_trace_clock clock;
    struct spex_trace_file metadata;
    struct spex_trace_file journal;
    /* By CPU; NULL: no record of it has come. The last is of late records. */
    struct spex_trace_stream *streams[CPUS_MAX + 1];
    /* CPUs up to the last that has a stream. */
    size_t cpus;
    size_t waiting;
    /* Times of CLOCK_MONOTONIC. */
    uint64_t stored_ns, rotated_ns, clock_ns, begin_ns;
    /* Events in files; lost ones that files tell of; lost ones that the process tells of, and how
     * many of these records have accounted for; records left out after an error. */
    uint64_t records;
    uint64_t told;
    uint64_t lost;
    uint64_t accounted;
    uint64_t left_out;
    struct spex_trace_profiles profiles;
    int err;
    uint64_t failed; /* when, in ticks */
};

/* Keeps the first error. */
static void trace_fail(struct spex_trace *trace, int err) {
    if (!err || trace->err)
        return;
    trace->err = err;
    trace->failed = spex_ticks();
}

static int metadata_write(struct spex_trace *trace) {
    size_t length;
    const struct spex_metadata metadata = {.uuid = trace->uuid,
                                           .program = trace->program,
                                           .process_id = trace->process_id,
                                           .clock = trace->clock,
                                           .classes = &trace->classes};
    char *text = spex_metadata_text(&metadata, &length);
    if (!text)
        return -ENOMEM;
    int err = spex_trace_file_replace(trace->disk, &trace->metadata, text, length);
    spex_free(text);
    if (!err)
        trace->classes_new = false;
    return err;
}

static int journal_write(struct spex_trace *trace, enum spex_journal_kind kind, const void *entries,
                         size_t count, size_t entry_bytes) {
    return spex_journal_append(trace->disk, &trace->journal, kind, entries, count, entry_bytes);
}

/* Notes the clocks, and knows the rate of the ticks better. */
static int clock_note(struct spex_trace *trace) {
    struct spex_journal_clock now = spex_clock_anchor_now();
    now.whole = trace->whole;
    trace->clock = spex_trace_clock(trace->first, now);
    return journal_write(trace, SPEX_JOURNAL_CLOCK, &now, 1, sizeof(now));
}

/* The first moment of this process, in whatever trace: the longer ago, the better the rate. */
static struct spex_journal_clock first;

void spex_trace_clock_begin(void) {
    if (!first.ticks) {
        first = spex_clock_anchor_now();
        spex_wait_ns(BASELINE_NS);
    }
}

/* Makes the trace's folder: PROGRAM-PID, or PROGRAM-PID-2 and so on where that exists. */
static int folder_make(struct spex_trace *trace, const struct spex_trace_options *options) {
    enum { PROGRAM_BYTES = 64 };
    char name[PROGRAM_BYTES], suffix[16] = "";
    snprintf(name, sizeof(name), "%s", options->program);
    for (char *c = name; *c; c++)
        if (*c == '/' || *c == '\n' || (c == name && (*c == '.' || *c == '-')))
            *c = '_';
    for (unsigned n = 2; n < 10000; n++) {
        if (spex_asprintf(&trace->directory, "%s/%s-%d%s", options->directory, name,
                          trace->process_id, suffix) < 0) {
            trace->directory = NULL;
            return -ENOMEM;
        }
        if (mkdir(trace->directory, 0777) == 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
        spex_free(trace->directory);
        trace->directory = NULL;
        snprintf(suffix, sizeof(suffix), "-%u", n);
    }
    return -EEXIST;
}

static int files_make(struct spex_trace *trace) {
    char *hidden = NULL;
    if (spex_asprintf(&hidden, "%s/.spex", trace->directory) < 0)
        return -ENOMEM;
    int err = mkdir(hidden, 0777) == 0 ? 0 : -errno;
    if (spex_asprintf(&trace->metadata.path, "%s/metadata", trace->directory) < 0 ||
        spex_asprintf(&trace->journal.path, "%s/journal", hidden) < 0)
        err = -ENOMEM;
    spex_free(hidden);
    err = err ? err : clock_note(trace);
    if (!err)
        spex_trace_file_set_aside(&trace->journal, JOURNAL_END_BYTES);
    return err ? err : metadata_write(trace);
}

/* RFC 4122, version 4. */
static void uuid_make(uint8_t uuid[SPEX_TRACE_UUID_BYTES]) {
    if (getrandom(uuid, SPEX_TRACE_UUID_BYTES, GRND_NONBLOCK) != SPEX_TRACE_UUID_BYTES) {
        uint64_t made[2] = {spex_ticks(), spex_clock_ns(CLOCK_REALTIME)};
        memcpy(uuid, made, sizeof(made));
    }
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

int spex_trace_open(const struct spex_trace_options *options, struct spex_trace **out,
                    struct spex_error *error) {
    struct spex_trace *trace = spex_calloc(1, sizeof(*trace));
    *out = NULL;
    if (!trace || !(trace->program = spex_strdup(options->program))) {
        spex_free(trace);
        return spex_fail(error, -ENOMEM, "out of memory");
    }
    trace->disk = options->disk;
    trace->process_id = options->process_id;
    trace->rotate_bytes = options->limits.rotate_bytes;
    trace->rotate_ns = (uint64_t)(options->limits.rotate_seconds * 1e9);
    uuid_make(trace->uuid);
    spex_trace_clock_begin();
    trace->first = first;
    trace->profiles.newest_ticks = options->from > first.ticks ? options->from : first.ticks;
    trace->whole = options->whole;
    trace->begin_ns = trace->stored_ns = trace->rotated_ns = trace->clock_ns =
        spex_clock_ns(CLOCK_MONOTONIC);
    int err = folder_make(trace, options);
    err = err ? err : files_make(trace);
    if (err) {
        spex_error_set(error, "no trace can be written in %s: %s", options->directory,
                       strerror(-err));
        spex_trace_free(trace);
        return err;
    }
    *out = trace;
    return 0;
}

void spex_trace_sites(struct spex_trace *trace, const struct spex_stream_site *sites,
                      size_t count) {
    if (trace->err)
        return;
    int err = spex_event_classes_sites(&trace->classes, sites, count);
    if (!err)
        err = journal_write(trace, SPEX_JOURNAL_SITES,
                            trace->classes.sites + trace->classes.site_count - count, count,
                            sizeof(*sites));
    trace_fail(trace, err);
}

void spex_trace_contexts(struct spex_trace *trace, const struct spex_stream_context *contexts,
                         size_t count) {
    if (!trace->err)
        trace_fail(trace,
                   journal_write(trace, SPEX_JOURNAL_CONTEXTS, contexts, count, sizeof(*contexts)));
}

/* Writes the stream's packets, behind the metadata of their events. */
static int stream_store(struct spex_trace *trace, struct spex_trace_stream *stream) {
    uint64_t events = stream->packets.events, lost = stream->packets.lost;
    int err = trace->err;
    if (!err && trace->classes_new)
        err = metadata_write(trace);
    err = err ? err : spex_trace_stream_write(stream, trace->disk);
    if (err)
        return err;
    trace->records += events;
    trace->told += lost;
    return 0;
}

/* The id of a record's event, which is noted in the journal when it is new; or a negative errno
 * value. */
static int32_t event_of(struct spex_trace *trace, const struct spex_record *record,
                        unsigned layout) {
    int32_t id = spex_event_find(&trace->classes, record, layout);
    if (id >= 0)
        return id;
    id = spex_event_add(&trace->classes, record, layout);
    if (id < 0)
        return id;
    trace->classes_new = true;
    const struct spex_journal_event *event = &trace->classes.events[id];
    int err = journal_write(trace, SPEX_JOURNAL_EVENTS, event, 1, sizeof(*event));
    return err ? err : id;
}

/* Adds a record to a stream's packets. A record tells of no more losses than the process does. */
static int record_store(struct spex_trace *trace, struct spex_trace_stream *stream,
                        const struct spex_record *record) {
    uint64_t rest = trace->lost - trace->accounted;
    uint64_t lost = record->lost < rest ? record->lost : rest;
    unsigned layout = 0;
    if (!spex_packets_ready(&stream->packets, record, lost, &layout)) {
        int err = stream_store(trace, stream);
        if (err)
            return err;
        spex_packets_ready(&stream->packets, record, lost, &layout);
    }
    int32_t id = event_of(trace, record, layout);
    if (id < 0)
        return id;
    spex_packets_add(&stream->packets, (uint32_t)id, layout, record, lost);
    trace->accounted += lost;
    return 0;
}

/* Adds what of the first records needs nothing but a place in the packet. Returns how many. */
static size_t run_store(const struct spex_trace *trace, struct spex_trace_stream *stream,
                        const struct spex_record *records, size_t count) {
    const struct spex_event_class *class = spex_event_class_find(&trace->classes, records);
    return class ? spex_packets_add_run(&stream->packets, records, count, class->ids) : 0;
}

/* The stream of a CPU, made for its first record; NULL: there is no memory. */
static struct spex_trace_stream *stream_of(struct spex_trace *trace, size_t cpu) {
    cpu = cpu < CPUS_MAX ? cpu : CPUS_MAX;
    struct spex_trace_stream *stream = trace->streams[cpu];
    if (stream)
        return stream;
    stream = spex_malloc(sizeof(*stream));
    if (!stream)
        return NULL;
    uint32_t id = cpu < CPUS_MAX ? (uint32_t)cpu : SPEX_TRACE_CPU_NONE;
    if (spex_trace_stream_open(stream, trace->directory, trace->uuid, id, trace->rotate_bytes)) {
        spex_free(stream);
        return NULL;
    }
    trace->streams[cpu] = stream;
    if (cpu < CPUS_MAX && cpu >= trace->cpus)
        trace->cpus = cpu + 1;
    return stream;
}

/* Moves the first `count` records that wait to the stream of late ones, which is not this. */
static int records_move(struct spex_trace *trace, struct spex_trace_stream *stream, size_t count) {
    struct spex_trace_stream *late = stream_of(trace, CPUS_MAX);
    int err = late ? spex_waiting_add(&late->waiting, stream->waiting.records, count) : -ENOMEM;
    if (!err)
        spex_waiting_drop(&stream->waiting, count);
    return err;
}

/* Makes events of the records before `until`. Those before the last event are late: they go to the
 * other stream, or with the late ones themselves to a new file. */
static int stream_drain(struct spex_trace *trace, struct spex_trace_stream *stream,
                        uint64_t until) {
    size_t late = spex_waiting_until(&stream->waiting, stream->packets.last);
    int err = 0;
    if (late && stream->cpu != SPEX_TRACE_CPU_NONE) {
        err = records_move(trace, stream, late);
    } else if (late && stream->waiting.records[0].timestamp < until) {
        err = stream_store(trace, stream);
        if (!err)
            spex_trace_stream_rotate(stream, trace->disk);
    }
    size_t count = spex_waiting_until(&stream->waiting, until), r = 0;
    while (r < count && !err) {
        size_t run = run_store(trace, stream, &stream->waiting.records[r], count - r);
        err = run ? 0 : record_store(trace, stream, &stream->waiting.records[r]);
        r += run + (!run && !err);
    }
    spex_waiting_drop(&stream->waiting, r);
    trace->waiting -= r;
    return err;
}

/* Late records wait until `late_until`. */
static void streams_drain(struct spex_trace *trace, uint64_t until, uint64_t late_until) {
    for (size_t s = 0; s < trace->cpus && !trace->err; s++)
        if (trace->streams[s])
            trace_fail(trace, stream_drain(trace, trace->streams[s], until));
    if (trace->streams[CPUS_MAX] && !trace->err)
        trace_fail(trace, stream_drain(trace, trace->streams[CPUS_MAX], late_until));
}

static void streams_store(struct spex_trace *trace, bool rotate) {
    for (size_t s = 0; s <= CPUS_MAX && !trace->err; s++) {
        if (!trace->streams[s])
            continue;
        trace_fail(trace, stream_store(trace, trace->streams[s]));
        if (rotate && !trace->err)
            spex_trace_stream_rotate(trace->streams[s], trace->disk);
    }
}

struct spex_record *spex_trace_room(struct spex_trace *trace, uint32_t cpu, size_t count) {
    struct spex_trace_stream *stream = trace->err ? NULL : stream_of(trace, cpu);
    return stream ? spex_waiting_room(&stream->waiting, count) : NULL;
}

void spex_trace_records(struct spex_trace *trace, const struct spex_record *records, size_t count) {
    if (count == 0)
        return;
    struct spex_trace_stream *stream = trace->err ? NULL : stream_of(trace, records[0].cpu_id);
    int err = stream ? spex_waiting_add(&stream->waiting, records, count) : -ENOMEM;
    if (err) {
        trace_fail(trace, err);
        trace->left_out += count;
        return;
    }
    trace->waiting += count;
    if (trace->waiting > WAITING_MAX)
        streams_drain(trace, UINT64_MAX, UINT64_MAX);
}

/* Every second: stores the packets, so that no more than this is missing when the writer is
 * killed. The metadata gets a better clock after 1, 2, 4 … seconds. */
static void second_passed(struct spex_trace *trace, uint64_t now_ns) {
    bool rotate = trace->rotate_ns && now_ns - trace->rotated_ns >= trace->rotate_ns;
    trace->stored_ns = now_ns;
    trace_fail(trace, clock_note(trace));
    if (now_ns - trace->clock_ns >= trace->clock_ns - trace->begin_ns) {
        trace->clock_ns = now_ns;
        trace_fail(trace, metadata_write(trace));
    }
    streams_store(trace, rotate);
    if (rotate) {
        trace->rotated_ns = now_ns;
        spex_trace_mark(trace, spex_ticks(), "rotation");
    }
}

void spex_trace_pass(struct spex_trace *trace, uint64_t watermark) {
    if (trace->err)
        return;
    uint64_t late =
        watermark > trace->clock.ticks_per_second ? watermark - trace->clock.ticks_per_second : 0;
    streams_drain(trace, watermark, late);
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    if (now_ns - trace->stored_ns >= STORE_NS)
        second_passed(trace, now_ns);
}

void spex_trace_lost(struct spex_trace *trace, uint64_t lost) {
    if (lost > trace->lost)
        trace->lost = lost;
}

static int lost_note(struct spex_trace *trace) {
    struct spex_journal_lost lost = {spex_ticks(), spex_trace_totals(trace).lost};
    return journal_write(trace, SPEX_JOURNAL_LOST, &lost, 1, sizeof(lost));
}

void spex_trace_profile(struct spex_trace *trace, const void *frames, size_t bytes) {
    int written = 0;
    if (trace->err)
        spex_trace_profiles_keep(&trace->profiles, frames, bytes);
    else
        written =
            spex_trace_profiles_add(&trace->profiles, trace->disk, &trace->journal, frames, bytes);
    trace_fail(trace, written > 0 ? lost_note(trace) : written);
}

void spex_trace_mark(struct spex_trace *trace, uint64_t ticks, const char *text) {
    if (!trace->err)
        trace_fail(trace, spex_journal_append_bytes(trace->disk, &trace->journal, SPEX_JOURNAL_MARK,
                                                    ticks, text, strlen(text)));
}

/* What the streams have in memory is lost after an error. */
static void streams_give_up(struct spex_trace *trace) {
    for (size_t s = 0; s <= CPUS_MAX; s++) {
        struct spex_trace_stream *stream = trace->streams[s];
        if (!stream)
            continue;
        trace->left_out += stream->waiting.count + stream->packets.events;
        spex_waiting_drop(&stream->waiting, stream->waiting.count);
        spex_packets_drop(&stream->packets);
    }
    trace->waiting = 0;
}

/* The stream that tells of losses no record accounts for: the first there is. */
static struct spex_trace_stream *stream_of_losses(struct spex_trace *trace) {
    for (size_t s = 0; s <= CPUS_MAX; s++)
        if (trace->streams[s])
            return trace->streams[s];
    return stream_of(trace, CPUS_MAX);
}

/* After an error this is tried, too: there may be room for a packet. */
static int rest_tell(struct spex_trace *trace) {
    uint64_t lost = spex_trace_totals(trace).lost;
    if (lost <= trace->told)
        return 0;
    struct spex_trace_stream *stream = stream_of_losses(trace);
    if (!stream)
        return -ENOMEM;
    spex_packets_add_lost(&stream->packets, spex_ticks(), lost - trace->told);
    int err = spex_trace_stream_write(stream, trace->disk);
    if (!err)
        trace->told = lost;
    return err;
}

static void error_note(struct spex_trace *trace) {
    char text[128];
    snprintf(text, sizeof(text), SPEX_JOURNAL_ENDED "%s", strerror(-trace->err));
    spex_journal_append_bytes(trace->disk, &trace->journal, SPEX_JOURNAL_MARK, trace->failed, text,
                              strlen(text));
}

void spex_trace_end(struct spex_trace *trace) {
    streams_drain(trace, UINT64_MAX, UINT64_MAX);
    streams_store(trace, false);
    if (trace->err) {
        streams_give_up(trace);
        error_note(trace);
    }
    int untold = rest_tell(trace);
    int err = spex_trace_profiles_end(&trace->profiles, trace->disk, &trace->journal);
    err = err ? err : clock_note(trace);
    err = err ? err : lost_note(trace);
    err = err ? err : metadata_write(trace);
    spex_trace_file_trim(&trace->journal);
    trace_fail(trace, err ? err : untold);
}

struct spex_trace_totals spex_trace_totals(const struct spex_trace *trace) {
    return (struct spex_trace_totals){trace->records, trace->lost + trace->left_out};
}

const char *spex_trace_directory(const struct spex_trace *trace) {
    return trace->directory;
}

int spex_trace_error(const struct spex_trace *trace) {
    return trace->err;
}

void spex_trace_free(struct spex_trace *trace) {
    if (!trace)
        return;
    for (size_t s = 0; s <= CPUS_MAX; s++) {
        if (!trace->streams[s])
            continue;
        spex_trace_stream_free(trace->streams[s]);
        spex_free(trace->streams[s]);
    }
    spex_event_classes_free(&trace->classes);
    spex_trace_profiles_free(&trace->profiles);
    spex_free(trace->metadata.path);
    spex_free(trace->journal.path);
    spex_free(trace->directory);
    spex_free(trace->program);
    spex_free(trace);
}
