/* SPDX-License-Identifier: MIT */
/* Frames of the stream are checked, and handed to the trace of the process, which is opened with
 * the first, or to the flight recorder. The frames of a profile are kept until it is complete. */
#define _GNU_SOURCE
#include "tools/record/recorded.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grown.h"
#include "observe/control_client.h"
#include "observe/process_place.h"
#include "observe/remains/remains.h"
#include "text/waits.h"
#include "tools/common/complain.h"
#include "wire/handover.h"
#include "wire/stream_check.h"

/* Frames that are taken in one turn, so that no process keeps the others waiting; most bytes of a
 * profile, and most sites of a stream. */
enum { FRAMES_MAX = 256, PROFILE_BYTES_MAX = 16 << 20, SITES_MAX = 65536 };

/* From one profile of a child to the next, and renewals in the time of a lease. */
enum { INTERVAL_MS = 1000, RENEWALS = 3 };

/* How long the end of a process is waited for that has closed its connections. */
enum { END_MS = 200 };

struct spex_recorded *spex_recorded_add(struct spex_recording *recording, pid_t process) {
    struct spex_recorded *recorded = calloc(1, sizeof(*recorded));
    if (!recorded)
        return NULL;
    recorded->process = process;
    recorded->pidfd = process > 0 ? pidfd_open(process, 0) : -1;
    recorded->stream = recorded->caller.socket = recorded->caller.pidfd = recorded->caller.rings =
        -1;
    recorded->next = recording->first;
    recording->first = recorded;
    return recorded;
}

/* Keeps a frame of the profile that is coming. What it cannot keep is missing from the journal. */
static void frame_keep(struct spex_recorded *recorded, const char *frame, size_t bytes) {
    size_t needed = recorded->frame_bytes + bytes;
    if (needed > PROFILE_BYTES_MAX)
        return;
    if (needed > recorded->frame_room) {
        char *frames = realloc(recorded->frames, 2 * needed);
        if (!frames)
            return;
        recorded->frames = frames;
        recorded->frame_room = 2 * needed;
    }
    memcpy(recorded->frames + recorded->frame_bytes, frame, bytes);
    recorded->frame_bytes = needed;
}

/* Hands over the profile that has come, when there is something to hand it to. */
static void profile_hand(struct spex_recorded *recorded) {
    if (!recorded->frames_whole || (!recorded->flown && !recorded->trace))
        return;
    if (recorded->flown)
        spex_flown_profile(recorded->flown, recorded->frames, recorded->frame_bytes);
    else
        spex_trace_profile(recorded->trace, recorded->frames, recorded->frame_bytes);
    recorded->frames_whole = false;
    recorded->frame_bytes = 0;
}

/* Called with each frame. A profile begins with PROCESS and ends with DONE. Values are left out:
 * the trace has the records that they come from. */
static void frame_take(void *user, const char *frame, size_t bytes) {
    struct spex_recorded *recorded = user;
    struct spex_control_frame head;
    memcpy(&head, frame, sizeof(head));
    switch (head.kind) {
    case SPEX_CONTROL_PROCESS:
        recorded->frames_whole = false;
        recorded->frame_bytes = 0;
        frame_keep(recorded, frame, bytes);
        break;
    case SPEX_CONTROL_TYPES:
    case SPEX_CONTROL_SITES:
    case SPEX_CONTROL_PROBE:
        frame_keep(recorded, frame, bytes);
        break;
    case SPEX_CONTROL_DONE:
        recorded->frames_whole = recorded->frame_bytes > 0;
        profile_hand(recorded);
        break;
    default:
        break;
    }
}

void spex_recorded_call(struct spex_recorded *recorded, int socket) {
    spex_caller_open(&recorded->caller, socket);
    recorded->called = true;
    recorded->caller.frame = frame_take;
    recorded->caller.user = recorded;
}

void spex_recorded_stream(struct spex_recorded *recorded, int socket) {
    recorded->stream = socket;
    recorded->streamed = recorded->fresh = true;
    recorded->torn = false;
}

/* Whether the process has ended, by a descriptor of it. */
static bool has_ended(const struct spex_recorded *recorded, int timeout_ms) {
    struct pollfd end = {.fd = recorded->pidfd, .events = POLLIN};
    return recorded->pidfd < 0 || spex_wait_ready(&end, 1, timeout_ms) > 0;
}

bool spex_recorded_runs(const struct spex_recorded *recorded) {
    return !has_ended(recorded, 0);
}

bool spex_recorded_may_return(const struct spex_recorded *recorded) {
    return recorded->begun && recorded->torn && !recorded->complete && spex_recorded_runs(recorded);
}

/* Without a control socket there is a trace all the same; the lease then ends by itself. */
void spex_recorded_follow(struct spex_recorded *recorded) {
    struct spex_error error;
    int socket = recorded->process > 0 ? spex_client_connect(recorded->process, 0, &error) : -1;
    recorded->follows = true;
    if (socket < 0)
        return;
    spex_recorded_call(recorded, socket);
    spex_caller_ask(&recorded->caller, SPEX_CONTROL_SUBSCRIBE, SPEX_CALLER_INTERVAL, INTERVAL_MS);
}

/* The answers come between profiles, and change nothing of them. */
void spex_recorded_renew(struct spex_recorded *recorded, uint32_t holder, uint32_t ms) {
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    if (!recorded->follows || (ms && now_ns < recorded->renewal_ns))
        return;
    spex_caller_ask(&recorded->caller, SPEX_CONTROL_RENEW, holder, ms);
    recorded->renewal_ns = now_ns + ms / RENEWALS * UINT64_C(1000000);
}

bool spex_recorded_take_profiles(struct spex_recorded *recorded) {
    return spex_caller_take(&recorded->caller) > 0;
}

static void stream_close(struct spex_recorded *recorded) {
    close(recorded->stream);
    recorded->stream = -1;
}

/* What the process was called when it connected, or is now; where it is gone, as its profile says,
 * if it has sent one. */
static void name_find(struct spex_recorded *recorded, char *name, size_t size) {
    struct spex_process_place place;
    bool called = recorded->called && strcmp(recorded->caller.command, "?") != 0;
    snprintf(name, size, "%s", called ? recorded->caller.command : "");
    if (!name[0] && recorded->process > 0 && spex_process_place(recorded->process, &place) == 0) {
        snprintf(name, size, "%s", place.command);
        spex_process_place_free(&place);
    }
    if (!name[0] && recorded->called) {
        spex_recorded_take_profiles(recorded);
        snprintf(name, size, "%s", recorded->caller.command);
    }
    if (!name[0] || strcmp(name, "?") == 0)
        snprintf(name, size, "process");
}

/* Opens the trace at the first frame, or lets the flight recorder know the process. */
static int process_begin(struct spex_recording *recording, struct spex_recorded *recorded,
                         const struct spex_stream_header *header, struct spex_error *error) {
    char name[SPEX_PROFILE_NAME_BYTES];
    name_find(recorded, name, sizeof(name));
    const struct spex_trace_options options = {
        .directory = recording->directory,
        .program = name,
        .process_id = recorded->process > 0 ? recorded->process : (int)header->process_id,
        .whole = recorded->whole,
        .limits = recording->limits,
        .disk = &recording->disk};
    int err = 0;
    if (!recording->flight.seconds)
        err = spex_trace_open(&options, &recorded->trace, error);
    else if (!(recorded->flown =
                   spex_flown_new(&recording->flight, options.program, options.process_id)))
        err = spex_fail(error, -ENOMEM, "out of memory");
    if (err)
        return err;
    profile_hand(recorded);
    recorded->collectors = header->collectors;
    recorded->lost_before = header->lost;
    recording->traces++;
    return 0;
}

static int sites_take(struct spex_recorded *recorded, const char *frame, uint32_t count,
                      struct spex_error *error) {
    recorded->sites += count;
    if (recorded->sites > SITES_MAX)
        return spex_fail(error, -EPROTO, "the program's stream holds too many sites");
    for (uint32_t s = 0; s < count; s++) {
        struct spex_stream_site site;
        spex_stream_take_site(frame, s, &site);
        spex_trace_sites(recorded->trace, &site, 1);
    }
    return 0;
}

/* Returns how far all collectors are. */
static uint64_t watermark_note(struct spex_recorded *recorded,
                               const struct spex_stream_header *header) {
    uint64_t lowest = UINT64_MAX;
    if (header->kind == SPEX_STREAM_PASS)
        recorded->watermarks[header->collector] = header->watermark;
    for (uint32_t c = 0; c < recorded->collectors; c++)
        lowest = recorded->watermarks[c] < lowest ? recorded->watermarks[c] : lowest;
    return lowest;
}

/* A trace that is written all the time needs no dump: the request becomes a mark. */
static void dump_note(struct spex_recorded *recorded, const char *frame) {
    struct spex_stream_dump request;
    spex_stream_take_dump(frame, &request);
    spex_trace_mark(recorded->trace, request.ticks, request.why);
}

/* Hands a frame to the trace. */
static int trace_frame_take(struct spex_recorded *recorded, const struct spex_stream_header *header,
                            const char *frame, const struct spex_record *records,
                            uint64_t watermark, uint64_t lost, struct spex_error *error) {
    int err = 0;
    spex_trace_lost(recorded->trace, lost);
    switch ((enum spex_stream_kind)header->kind) {
    case SPEX_STREAM_SITES:
        err = sites_take(recorded, frame, header->count, error);
        break;
    case SPEX_STREAM_CONTEXTS:
        spex_trace_contexts(recorded->trace, spex_stream_entries(frame), header->count);
        break;
    case SPEX_STREAM_RECORDS:
    case SPEX_STREAM_PACKED:
        spex_trace_records(recorded->trace, records, header->count);
        break;
    case SPEX_STREAM_PASS:
        spex_trace_pass(recorded->trace, watermark);
        break;
    case SPEX_STREAM_DUMP:
        dump_note(recorded, frame);
        break;
    case SPEX_STREAM_HELLO:
    case SPEX_STREAM_END:
    case SPEX_STREAM_RINGS:
    case SPEX_STREAM_THREADS:
        break;
    }
    return err ? err : spex_trace_error(recorded->trace);
}

/* What is needed to read the rings of the process when it has died. Owns `file`, which may be
 * -1. */
static void remains_note(struct spex_recorded *recorded, const struct spex_stream_header *header,
                         const char *frame, int file) {
    struct spex_stream_rings rings;
    if (header->kind == SPEX_STREAM_RINGS && file >= 0 && !recorded->remains) {
        memcpy(&rings, spex_stream_entries(frame), sizeof(rings));
        recorded->remains = spex_remains_open(header, &rings, file, &recorded->probes);
    } else if (file >= 0) {
        close(file);
    }
    if (header->kind == SPEX_STREAM_PACKED)
        spex_remains_received(recorded->remains, spex_stream_entries(frame), header->count);
}

static void sites_note(struct spex_recorded *recorded, const char *frame, uint32_t count) {
    for (uint32_t s = 0; s < count; s++) {
        struct spex_stream_site site;
        spex_stream_take_site(frame, s, &site);
        spex_stream_probes_note(&recorded->probes, &site);
    }
}

/* Where the records of a frame are unpacked: where they wait in the trace, if that is known. */
static struct spex_record *room_of(struct spex_recorded *recorded,
                                   const struct spex_stream_header *header, const char *frame) {
    static struct spex_record other[SPEX_STREAM_RECORDS_MAX];
    const struct spex_stream_packed *packed = spex_stream_entries(frame);
    struct spex_record *room = NULL;
    if (recorded->trace && header->kind == SPEX_STREAM_PACKED && packed->cpu != SPEX_STREAM_NO_CPU)
        room = spex_trace_room(recorded->trace, packed->cpu, header->count);
    return room ? room : other;
}

/* Owns `file`, the descriptor that came with the frame; -1: none. 0, or a negative errno value with
 * the reason. */
static int stream_frame_take(struct spex_recording *recording, struct spex_recorded *recorded,
                             const char *frame, size_t length, int file, struct spex_error *error) {
    const struct spex_record *records = NULL;
    struct spex_stream_header header = {.collectors = recorded->fresh ? 0 : recorded->collectors};
    int err = spex_stream_check(frame, length, &header, error);
    if (!err && recorded->collectors && header.collectors != recorded->collectors)
        err = spex_fail(error, -EPROTO, "the program's stream goes on as another one");
    recorded->fresh = false;
    if (!err && header.kind == SPEX_STREAM_SITES)
        sites_note(recorded, frame, header.count);
    if (!err)
        spex_stream_threads_note(&recorded->probes, frame);
    if (!err)
        err = spex_stream_records(&recorded->probes, frame, room_of(recorded, &header, frame),
                                  &records, error);
    if (!err && !recorded->trace && !recorded->flown)
        err = process_begin(recording, recorded, &header, error);
    if (err) {
        if (file >= 0)
            close(file);
        return err;
    }
    remains_note(recorded, &header, frame, file);
    uint64_t lost = spex_grown(recorded->lost_before, header.lost);
    uint64_t watermark = watermark_note(recorded, &header);
    recorded->complete |= header.kind == SPEX_STREAM_END;
    recorded->received += records ? header.count : 0;
    if (recorded->flown)
        return spex_flown_take(&recording->flight, recorded->flown, &header, frame, records,
                               watermark, lost);
    return trace_frame_take(recorded, &header, frame, records, watermark, lost, error);
}

/* After an error of the disk nothing more is recorded of any process; after one of the stream, no
 * more of this one. Its own connection says no more to the program than that it is closed. */
static void stream_fail(struct spex_recording *recording, struct spex_recorded *recorded, int err,
                        const struct spex_error *error) {
    stream_close(recorded);
    if (err == -EPROTO) {
        spex_complain(0, "process %d is not recorded any more: %s", (int)recorded->process,
                      error->text);
        return;
    }
    const char *where = recorded->trace ? spex_trace_directory(recorded->trace) : NULL;
    if (!recording->err && error->text[0])
        spex_complain(0, "recording has ended, and the program goes on: %s", error->text);
    else if (!recording->err)
        spex_complain(0, "recording has ended, and the program goes on: %s%s%s", where ? where : "",
                      where ? ": " : "", strerror(-err));
    recording->err = err;
}

bool spex_recorded_take_records(struct spex_recording *recording, struct spex_recorded *recorded) {
    static _Alignas(uint64_t) char frame[SPEX_STREAM_FRAME_BYTES];
    for (int frames = 0; frames < FRAMES_MAX && recorded->stream >= 0; frames++) {
        struct spex_error error = {""};
        int file;
        ssize_t length = spex_handover_receive(recorded->stream, frame, sizeof(frame), &file);
        if (length < 0 && errno == EAGAIN)
            return false;
        if (length < 0 && (errno == EINTR || errno == ECONNRESET))
            continue;
        if (length <= 0) {
            recorded->torn = true;
            stream_close(recorded);
            return false;
        }
        int err = (size_t)length > sizeof(frame) ? -EPROTO : recording->err;
        if (err && file >= 0)
            close(file);
        err =
            err ? err : stream_frame_take(recording, recorded, frame, (size_t)length, file, &error);
        if (err)
            stream_fail(recording, recorded, err, &error);
    }
    return recorded->stream >= 0;
}

/* What the process has made and not sent is lost, as far as its last profile tells. */
static void unsent_count(const struct spex_recorded *recorded) {
    const struct spex_profile_process *process = &recorded->caller.reader.profile.process;
    if (recorded->whole && recorded->caller.reader.complete)
        spex_trace_lost(recorded->trace,
                        spex_grown(recorded->received, process->produced + process->unrecorded));
}

static void trace_end(struct spex_recording *recording, struct spex_recorded *recorded,
                      uint64_t lost) {
    bool sound = !spex_trace_error(recorded->trace);
    spex_trace_lost(recorded->trace, lost);
    unsent_count(recorded);
    spex_trace_end(recorded->trace);
    struct spex_trace_totals totals = spex_trace_totals(recorded->trace);
    recording->totals.records += totals.records;
    recording->totals.lost += totals.lost;
    if (sound && spex_trace_error(recorded->trace))
        spex_complain(0, "the end of the trace %s cannot be written: %s",
                      spex_trace_directory(recorded->trace),
                      strerror(-spex_trace_error(recorded->trace)));
    spex_trace_free(recorded->trace);
}

struct remaining {
    struct spex_recording *recording;
    struct spex_recorded *recorded;
};

static void remaining_take(void *user, const struct spex_record *records, uint32_t count) {
    const struct remaining *to = user;
    to->recorded->received += count;
    if (to->recorded->flown)
        spex_flown_records(&to->recording->flight, to->recorded->flown, records, count);
    else
        spex_trace_records(to->recorded->trace, records, count);
}

/* Takes what the rings of a process that has died still have. Returns how many records are lost. */
static uint64_t remaining_records(struct spex_recording *recording,
                                  struct spex_recorded *recorded) {
    struct remaining to = {recording, recorded};
    if (!recorded->remains || recording->err)
        return 0;
    return spex_remains_take(recorded->remains, remaining_take, &to);
}

/* The last dump: one that is asked for, and that of a process which has not stopped spex. */
static void flown_end(struct spex_recording *recording, struct spex_recorded *recorded, bool died,
                      uint64_t lost) {
    struct spex_flown *flown = recorded->flown;
    flown->lost = flown->lost > lost ? flown->lost : lost;
    if (died)
        spex_flown_ask(flown, "the program has ended without stopping spex, as by a signal");
    if (flown->asked)
        spex_flown_dump(&recording->flight, flown);
    recording->totals.records += flown->records;
    recording->totals.lost += flown->lost;
    spex_flown_free(flown);
}

void spex_recorded_join(struct spex_recording *recording, struct spex_recorded *recorded,
                        struct spex_recorded *again) {
    spex_caller_free(&recorded->caller);
    free(recorded->frames);
    recorded->caller = again->caller;
    recorded->caller.user = recorded;
    recorded->frames = again->frames;
    recorded->frames_whole = again->frames_whole;
    recorded->frame_bytes = again->frame_bytes;
    recorded->frame_room = again->frame_room;
    again->called = false;
    again->frames = NULL;
    spex_recorded_end(recording, again);
    profile_hand(recorded);
}

void spex_recorded_end(struct spex_recording *recording, struct spex_recorded *recorded) {
    struct spex_recorded **at = &recording->first;
    while (*at != recorded)
        at = &(*at)->next;
    *at = recorded->next;
    if (recorded->streamed && !recorded->complete && recorded->caller.reader.final &&
        !recording->err)
        spex_complain(0,
                      "process %d has not sent its records to the end: it was not waited for, or "
                      "this command was held up for seconds",
                      (int)recorded->process);
    recording->unfollowed += recorded->caller.reader.profile.process.unfollowed;
    /* The connections of a process close a little before its end. One that executes another program
     * goes on. */
    bool died = (recorded->trace || recorded->flown) && recorded->torn && !recorded->complete &&
                has_ended(recorded, END_MS);
    uint64_t lost = died ? remaining_records(recording, recorded) : 0;
    if (recorded->trace)
        trace_end(recording, recorded, lost);
    if (recorded->flown)
        flown_end(recording, recorded, died, lost);
    spex_remains_free(recorded->remains);
    if (recorded->stream >= 0)
        close(recorded->stream);
    if (recorded->called)
        spex_caller_free(&recorded->caller);
    if (recorded->pidfd >= 0)
        close(recorded->pidfd);
    free(recorded->frames);
    free(recorded);
}
