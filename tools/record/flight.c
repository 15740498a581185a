/* SPDX-License-Identifier: MIT */
/* The records are kept as they came, and become a trace only in a dump: the child puts them
 * through the writer of traces. */
#define _GNU_SOURCE
#include "tools/record/flight.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spex/ticks.h>

#include "base/grown.h"
#include "text/quantity.h"
#include "tools/common/complain.h"
#include "wire/stream_check.h"

/* How long a dump waits for the collectors: those of a program without probes on sleep. */
#define PATIENCE_NS UINT64_C(1000000000)

/* Records can come so long after they were made. */
#define LATE_NS UINT64_C(1000000000)

/* Dumps of a process are this part of the window apart, so that one has what was recorded since the
 * last one and some of what was before. */
enum { APART = 2 };

/* Sites that are known of a process: more than a program can have. */
enum { SITES_MAX = 1 << 16 };

/* A child that writes leaves the processor to others. */
enum { WRITER_NICE = 10 };

int spex_flight_open(struct spex_flight *flight) {
    sigset_t asked;
    sigemptyset(&asked);
    sigaddset(&asked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &asked, NULL);
    flight->signal_fd = signalfd(-1, &asked, SFD_CLOEXEC | SFD_NONBLOCK);
    flight->begin = spex_instant_now();
    flight->memory.window_ns = (uint64_t)(flight->seconds * 1e9) + LATE_NS;
    return flight->signal_fd < 0 ? -errno : 0;
}

/* Waits for a child, or looks whether it has ended. */
static void writer_reap(struct spex_flight *flight, pid_t *writer, bool wait) {
    int status = 0;
    pid_t ended;
    do
        ended = *writer ? waitpid(*writer, &status, wait ? 0 : WNOHANG) : 0;
    while (ended < 0 && errno == EINTR);
    if (ended == 0)
        return;
    flight->failures += status != 0;
    *writer = 0;
}

/* A place for a child. `wait`: until there is one; otherwise NULL where there is none. */
static pid_t *writer_place(struct spex_flight *flight, bool wait) {
    for (int w = 0; w < SPEX_FLIGHT_WRITERS; w++) {
        writer_reap(flight, &flight->writers[w], false);
        if (!flight->writers[w])
            return &flight->writers[w];
    }
    if (wait)
        writer_reap(flight, &flight->writers[0], true);
    return wait ? &flight->writers[0] : NULL;
}

void spex_flight_close(struct spex_flight *flight) {
    for (int w = 0; w < SPEX_FLIGHT_WRITERS; w++)
        writer_reap(flight, &flight->writers[w], true);
    spex_flight_memory_free(&flight->memory);
    if (flight->left_out)
        spex_complain(0, "%u more dumps were asked for: --dumps %u was the limit", flight->left_out,
                      flight->most);
    if (flight->signal_fd >= 0)
        close(flight->signal_fd);
    flight->signal_fd = -1;
}

bool spex_flight_signalled(const struct spex_flight *flight) {
    struct signalfd_siginfo signal;
    bool came = false;
    while (flight->signal_fd >= 0 &&
           read(flight->signal_fd, &signal, sizeof(signal)) == (ssize_t)sizeof(signal))
        came = true;
    return came;
}

struct spex_flown *spex_flown_new(struct spex_flight *flight, const char *program, int process_id) {
    struct spex_flown *flown = calloc(1, sizeof(*flown));
    if (!flown)
        return NULL;
    flown->owner = flight->owners++;
    flown->process_id = process_id;
    snprintf(flown->program, sizeof(flown->program), "%s", program);
    return flown;
}

void spex_flown_free(struct spex_flown *flown) {
    if (!flown)
        return;
    free(flown->sites);
    free(flown->contexts);
    free(flown->profile);
    free(flown);
}

static int sites_keep(struct spex_flown *flown, const char *frame, uint32_t count) {
    if (flown->site_count + count > SITES_MAX)
        return 0;
    struct spex_stream_site *sites =
        realloc(flown->sites, (flown->site_count + count) * sizeof(*sites));
    if (!sites)
        return -ENOMEM;
    flown->sites = sites;
    for (uint32_t s = 0; s < count; s++)
        spex_stream_take_site(frame, s, &sites[flown->site_count++]);
    return 0;
}

/* A context that comes twice replaces none: there are as many as contexts have numbers, unless the
 * program sends some again. */
static int contexts_keep(struct spex_flown *flown, const char *frame, uint32_t count) {
    if (flown->context_count + count > 2 * SPEX_CONTEXTS_MAX)
        return 0;
    struct spex_stream_context *contexts =
        realloc(flown->contexts, (flown->context_count + count) * sizeof(*contexts));
    if (!contexts)
        return -ENOMEM;
    flown->contexts = contexts;
    memcpy(contexts + flown->context_count, spex_stream_entries(frame), count * sizeof(*contexts));
    flown->context_count += count;
    return 0;
}

static void ask(struct spex_flown *flown, const struct spex_stream_dump *request) {
    if (flown->asked < SPEX_FLIGHT_MARKS)
        flown->requests[flown->asked] = *request;
    if (!flown->asked++)
        flown->asked_ns = spex_clock_ns(CLOCK_MONOTONIC);
}

void spex_flown_ask(struct spex_flown *flown, const char *why) {
    struct spex_stream_dump request = {.ticks = spex_ticks()};
    snprintf(request.why, sizeof(request.why), "%s", why);
    ask(flown, &request);
}

int spex_flown_take(struct spex_flight *flight, struct spex_flown *flown,
                    const struct spex_stream_header *header, const char *frame,
                    const struct spex_record *records, uint64_t watermark, uint64_t lost) {
    struct spex_flight_entry entry = {
        .owner = flown->owner, .watermark = watermark, .lost = flown->lost = lost};
    struct spex_stream_dump request;
    switch ((enum spex_stream_kind)header->kind) {
    case SPEX_STREAM_SITES:
        return sites_keep(flown, frame, header->count);
    case SPEX_STREAM_CONTEXTS:
        return contexts_keep(flown, frame, header->count);
    case SPEX_STREAM_RECORDS:
    case SPEX_STREAM_PACKED:
        entry.count = header->count;
        flown->records += header->count;
        break;
    case SPEX_STREAM_PASS:
        flown->watermark = watermark;
        break;
    case SPEX_STREAM_DUMP:
        spex_stream_take_dump(frame, &request);
        ask(flown, &request);
        return 0;
    case SPEX_STREAM_HELLO:
    case SPEX_STREAM_END:
    case SPEX_STREAM_RINGS:
    case SPEX_STREAM_THREADS:
        return 0;
    }
    return spex_flight_memory_add(&flight->memory, &entry, records, spex_clock_ns(CLOCK_MONOTONIC));
}

void spex_flown_records(struct spex_flight *flight, struct spex_flown *flown,
                        const struct spex_record *records, uint32_t count) {
    const struct spex_flight_entry entry = {
        .owner = flown->owner, .watermark = flown->watermark, .lost = flown->lost, .count = count};
    if (spex_flight_memory_add(&flight->memory, &entry, records, spex_clock_ns(CLOCK_MONOTONIC)) ==
        0)
        flown->records += count;
}

/* Without memory the dump has an older profile, or none. */
void spex_flown_profile(struct spex_flown *flown, const void *frames, size_t bytes) {
    char *profile = realloc(flown->profile, bytes);
    if (!profile)
        return;
    memcpy(profile, frames, bytes);
    flown->profile = profile;
    flown->profile_bytes = bytes;
}

/* How many reasons are known. */
static unsigned marks_of(const struct spex_flown *flown) {
    return flown->asked < SPEX_FLIGHT_MARKS ? flown->asked : SPEX_FLIGHT_MARKS;
}

bool spex_flown_is_due(struct spex_flight *flight, const struct spex_flown *flown) {
    if (!flown->asked)
        return false;
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    uint64_t apart_ns = (uint64_t)(flight->seconds * 1e9) / APART;
    uint64_t last = flown->requests[marks_of(flown) - 1].ticks;
    return (flown->watermark >= last || now_ns - flown->asked_ns >= PATIENCE_NS) &&
           (!flown->dumped_ns || now_ns - flown->dumped_ns >= apart_ns) &&
           writer_place(flight, false);
}

/* What a dump takes of the memory: records since `from`. */
struct replay {
    struct spex_trace *trace;
    uint64_t from;
    /* What was lost before the first of them, and the times of the first and the last. */
    uint64_t lost_before;
    uint64_t first, last;
};

static void entry_take(void *user, const struct spex_flight_entry *entry,
                       const struct spex_record *records) {
    struct replay *replay = user;
    if (!replay->first)
        replay->lost_before = entry->lost;
    else
        spex_trace_lost(replay->trace, spex_grown(replay->lost_before, entry->lost));
    for (uint32_t r = 0, run = 0; r <= entry->count; r++) {
        bool is_old = r == entry->count || records[r].timestamp < replay->from;
        if (is_old && r > run)
            spex_trace_records(replay->trace, records + run, r - run);
        if (is_old) {
            run = r + 1;
            continue;
        }
        uint64_t time = records[r].timestamp;
        replay->first = replay->first && replay->first < time ? replay->first : time;
        replay->last = replay->last > time ? replay->last : time;
    }
    if (entry->count == 0)
        spex_trace_pass(replay->trace, entry->watermark);
}

static void mark(const struct spex_flown *flown, struct spex_trace *trace) {
    char text[SPEX_STREAM_TEXT_BYTES + 64], more[48] = "";
    unsigned marks = marks_of(flown);
    for (unsigned m = 0; m < marks; m++) {
        if (m + 1 == marks && flown->asked > marks)
            snprintf(more, sizeof(more), ", and %u times more", flown->asked - marks);
        snprintf(text, sizeof(text), "dump: %s%s", flown->requests[m].why, more);
        spex_trace_mark(trace, flown->requests[m].ticks, text);
    }
}

static void tell(const struct spex_flight *flight, const struct spex_flown *flown,
                 const struct replay *replay, double rate, uint64_t bytes) {
    char size[64];
    struct spex_trace_totals totals = spex_trace_totals(replay->trace);
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC), cut_ns = flight->memory.cut_ns;
    bool is_cut = cut_ns && (double)(now_ns - cut_ns) < flight->seconds * 1e9;
    spex_quantity_text((double)bytes, NAN, "B", size, sizeof(size));
    fprintf(stderr, "spex: dump (%s): %llu records of %.1f s, %llu lost, %s in %s%s\n",
            flown->requests[0].why, (unsigned long long)totals.records,
            (double)(replay->last - replay->first) / rate, (unsigned long long)totals.lost, size,
            spex_trace_directory(replay->trace), is_cut ? "; more did not fit into --memory" : "");
}

/* In the child. An exit status. */
static int dump_write(const struct spex_flight *flight, const struct spex_flown *flown) {
    struct spex_trace_disk disk = {.keep = 0};
    struct spex_error error = {""};
    double rate = spex_tick_rate_since(flight->begin);
    uint64_t window = (uint64_t)(flight->seconds * rate), now = spex_ticks();
    uint64_t first = flown->requests[0].ticks, until = first < now ? first : now;
    struct replay replay = {.from = until > window ? until - window : 0};
    const struct spex_trace_options options = {.directory = flight->directory,
                                               .program = flown->program,
                                               .process_id = flown->process_id,
                                               .from = replay.from,
                                               .disk = &disk};
    if (spex_trace_open(&options, &replay.trace, &error))
        return spex_complain(SPEX_EXIT_FAILED, "dump: %s", error.text);
    if (flown->site_count)
        spex_trace_sites(replay.trace, flown->sites, flown->site_count);
    if (flown->context_count)
        spex_trace_contexts(replay.trace, flown->contexts, flown->context_count);
    spex_flight_memory_replay(&flight->memory, flown->owner, entry_take, &replay);
    if (flown->profile)
        spex_trace_profile(replay.trace, flown->profile, flown->profile_bytes);
    mark(flown, replay.trace);
    spex_trace_end(replay.trace);
    int err = spex_trace_error(replay.trace);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "dump: %s is not complete: %s",
                             spex_trace_directory(replay.trace), strerror(-err));
    tell(flight, flown, &replay, rate, disk.bytes);
    return SPEX_EXIT_OK;
}

/* The child leaves by _exit: what else it has is the parent's. */
void spex_flown_dump(struct spex_flight *flight, struct spex_flown *flown) {
    if (flight->dumps == flight->most) {
        flight->left_out += flown->asked;
        flown->asked = 0;
        return;
    }
    pid_t *place = writer_place(flight, true);
    pid_t child = fork();
    if (child == 0) {
        nice(WRITER_NICE);
        _exit(dump_write(flight, flown));
    }
    if (child < 0) {
        spex_complain(0, "dump: no process can be started for it: %s", strerror(errno));
        flight->failures++;
    } else {
        *place = child;
    }
    flight->dumps++;
    flown->asked = 0;
    flown->dumped_ns = spex_clock_ns(CLOCK_MONOTONIC);
}
