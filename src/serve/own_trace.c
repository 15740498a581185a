/* SPDX-License-Identifier: MIT */
/* Collectors write the trace under a lock. A full disk ends the trace with one line; the program
 * and its probes go on, and the metrics are made all the same. */
#define _GNU_SOURCE
#include "serve/own_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grown.h"
#include "base/lock.h"
#include "base/memory/memory.h"
#include "collect/sent.h"
#include "probe/threads.h"
#include "ring/rings.h"
#include "serve/own_profile.h"
#include "serve/reply.h"
#include "text/message.h"
#include "trace/trace.h"

/* How often the journal gets a profile. */
#define PROFILE_NS UINT64_C(1000000000)

/* Contexts that are written at once, and sites. */
enum { CONTEXTS_MAX = 256, SITES_MAX = 16 };

struct own_trace {
    struct spex_sink sink;
    struct spex_lock lock;
    struct spex_trace *trace;
    struct spex_trace_disk disk;
    struct spex_sent sent;
    unsigned collectors;
    uint64_t watermarks[SPEX_MAX_COLLECTORS];
    /* Losses of the process before the trace. */
    uint64_t lost_before;
    uint64_t profile_ns;
    /* The line about the end of the trace has been written. */
    bool said;
    /* A frame, and the profile that is made of such. */
    _Alignas(uint64_t) char frame[SPEX_CONTROL_FRAME_BYTES];
    char *profile;
    size_t profile_bytes;
    size_t profile_room;
};

static uint64_t losses_now(bool ended) {
    struct spex_ring_counts counts = spex_rings_totals();
    return counts.lost + (ended ? counts.pending : 0) + spex_threads_unrecorded();
}

static void losses_tell(struct own_trace *own, bool ended) {
    spex_trace_lost(own->trace, spex_grown(own->lost_before, losses_now(ended)));
}

/* Without memory the profile is cut, and left out. */
static void frame_append(struct own_trace *own, size_t bytes) {
    size_t needed = own->profile_bytes + bytes;
    if (needed > own->profile_room) {
        char *profile = spex_realloc(own->profile, 2 * needed);
        if (!profile)
            return;
        own->profile = profile;
        own->profile_room = 2 * needed;
    }
    memcpy(own->profile + own->profile_bytes, own->frame, bytes);
    own->profile_bytes = needed;
}

/* Writes the frames that the journal has, which are those without values. */
static void profile_write(struct own_trace *own, bool final) {
    struct spex_reply reply, after;
    size_t bytes;
    own->profile_bytes = 0;
    spex_reply_profile(&reply, 0, final);
    while ((bytes = spex_reply_frame(&reply, &after, own->frame)) > 0) {
        uint16_t kind = ((const struct spex_control_frame *)(const void *)own->frame)->kind;
        if (kind != SPEX_CONTROL_VALUES && kind != SPEX_CONTROL_SPREAD && kind != SPEX_CONTROL_DONE)
            frame_append(own, bytes);
        reply = after;
    }
    spex_trace_profile(own->trace, own->profile, own->profile_bytes);
}

static void error_tell(struct own_trace *own) {
    int err = spex_trace_error(own->trace);
    if (!err || own->said)
        return;
    own->said = true;
    spex_message("SPEX_OUT: the trace %s has ended, and the program goes on: %s",
                 spex_trace_directory(own->trace), strerror(-err));
}

static void sites_tell(struct own_trace *own) {
    struct spex_stream_site sites[SITES_MAX];
    uint32_t count;
    while ((count = spex_sent_sites(&own->sent, sites, SITES_MAX)) > 0)
        spex_trace_sites(own->trace, sites, count);
}

/* The contexts of records of kernels, before them. A path that does not fit is written in parts. */
static void contexts_tell(struct own_trace *own, const struct spex_record *records, size_t count) {
    struct spex_stream_context contexts[CONTEXTS_MAX];
    for (size_t r = 0; r < count && records[r].probe_type == SPEX_KERNEL; r++) {
        uint64_t number = records[r].fields[1];
        for (uint32_t written = CONTEXTS_MAX; written == CONTEXTS_MAX;
             number = contexts[written - 1].parent) {
            written = spex_sent_contexts(&own->sent, number, contexts, 0, CONTEXTS_MAX);
            if (!written)
                break;
            spex_trace_contexts(own->trace, contexts, written);
        }
    }
}

static bool trace_records(struct spex_sink *sink, const struct spex_batch *batch) {
    struct own_trace *own = (struct own_trace *)sink; /* sink is the first member */
    spex_lock_take(&own->lock);
    sites_tell(own);
    contexts_tell(own, batch->records, batch->count);
    if (batch->records[0].lost)
        losses_tell(own, false);
    spex_trace_records(own->trace, batch->records, batch->count);
    error_tell(own);
    spex_lock_give(&own->lock);
    return true;
}

static bool trace_pass(struct spex_sink *sink, unsigned collector, uint64_t watermark) {
    struct own_trace *own = (struct own_trace *)sink;
    uint64_t lowest = UINT64_MAX, now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    spex_lock_take(&own->lock);
    own->watermarks[collector] = watermark;
    for (unsigned c = 0; c < own->collectors; c++)
        lowest = own->watermarks[c] < lowest ? own->watermarks[c] : lowest;
    spex_trace_pass(own->trace, lowest);
    if (now_ns - own->profile_ns >= PROFILE_NS) {
        own->profile_ns = now_ns;
        losses_tell(own, false);
        profile_write(own, false);
    }
    error_tell(own);
    spex_lock_give(&own->lock);
    return true;
}

static void trace_free(struct own_trace *own) {
    spex_trace_free(own->trace);
    spex_trace_disk_free(&own->disk);
    spex_free(own->profile);
    spex_free(own);
}

/* The metrics have ended, and are still there. */
static void trace_finish(struct spex_sink *sink) {
    struct own_trace *own = (struct own_trace *)sink;
    losses_tell(own, true);
    profile_write(own, true);
    spex_trace_end(own->trace);
    error_tell(own);
    struct spex_trace_totals totals = spex_trace_totals(own->trace);
    spex_message("%llu records, %llu lost, in %s", (unsigned long long)totals.records,
                 (unsigned long long)totals.lost, spex_trace_directory(own->trace));
    trace_free(own);
}

/* In the child of a fork the memory is leaked: a collector of the parent may have been changing
 * it. */
static void trace_abandon(struct spex_sink *sink) {
    (void)sink;
}

/* The folder's absolute path, because the program may change its directory: children of forks have
 * it from their parent. NULL with errno: it cannot be made. */
static const char *folder_make(const char *directory) {
    static char *asked, *absolute;
    if (absolute && strcmp(asked, directory) == 0)
        return absolute;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return NULL;
    spex_free(asked);
    spex_free(absolute);
    absolute = realpath(directory, NULL);
    asked = absolute ? spex_strdup(directory) : NULL;
    if (!asked) {
        spex_free(absolute);
        absolute = NULL;
    }
    return absolute;
}

/* Reads "DIR,keep=SIZE,rotate=…", and makes the folder and the trace in it. `text` is cut. */
static int trace_begin(struct own_trace *own, char *text, struct spex_error *error) {
    struct spex_trace_options options = {.program = spex_profile_own_name(),
                                         .process_id = getpid(),
                                         .whole = true,
                                         .disk = &own->disk};
    const char *wrong = spex_trace_limits_take(text, &options.limits);
    if (wrong)
        return spex_fail(error, -EINVAL, "%s", wrong);
    own->disk.keep = options.limits.keep;
    options.directory = folder_make(text);
    if (!options.directory)
        return spex_fail(error, -errno, "no trace can be written in %s: %s", text, strerror(errno));
    return spex_trace_open(&options, &own->trace, error);
}

int spex_own_trace_open(const char *out, unsigned collectors, struct spex_sink **sink) {
    struct spex_error error = {"out of memory"};
    struct own_trace *own = spex_calloc(1, sizeof(*own));
    char *text = own ? spex_strdup(out) : NULL;
    int err = text ? trace_begin(own, text, &error) : -ENOMEM;
    spex_free(text);
    if (err) {
        spex_message("SPEX_OUT: %s; the probes stay off", error.text);
        spex_free(own);
        return err;
    }
    own->collectors = collectors;
    own->lost_before = losses_now(false);
    own->profile_ns = spex_clock_ns(CLOCK_MONOTONIC);
    spex_lock_reset(&own->lock);
    own->sink = (struct spex_sink){.records = trace_records,
                                   .pass = trace_pass,
                                   .finish = trace_finish,
                                   .abandon = trace_abandon};
    *sink = &own->sink;
    return 0;
}
