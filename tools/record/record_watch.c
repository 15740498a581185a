/* SPDX-License-Identifier: MIT */
/* The loop of `spex record`. A program connects twice: its first packet tells which of the
 * connections it is. Both belong to one trace. A process may have several traces, one after the
 * other (it starts spex again, or executes another program) or at once (it has several copies of
 * spex). */
#define _GNU_SOURCE
#include "tools/record/record_watch.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "text/quantity.h"
#include "text/waits.h"
#include "tools/attach/held_lease.h"
#include "tools/common/complain.h"
#include "tools/common/verdict.h"
#include "wire/control_format.h"
#include "wire/stream_format.h"

/* The time after the end of the program in which what its processes have sent is waited for. */
#define SETTLE_NS UINT64_C(1000000000)

/* Descriptors that are polled: those of the caller, the listener's, new connections, and two of
 * each process that fits. The others are looked at in each turn. */
enum { OWN = 3, LISTENING = 2, PROCESSES = 512, TURN_MS = 1000 };

/* The same while a dump is asked for. */
enum { DUMP_TURN_MS = 20 };

struct polled {
    struct pollfd fds[OWN + LISTENING + SPEX_RECORD_NEW_MAX + 2 * PROCESSES];
    nfds_t count;
};

static void polled_add(struct polled *polled, int fd) {
    if (polled->count < sizeof(polled->fds) / sizeof(polled->fds[0]))
        polled->fds[polled->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* poll ignores descriptors that are -1. */
static void watch_wait(const struct spex_record_watch *watch, const int own[OWN], int timeout_ms) {
    static struct polled polled;
    polled.count = 0;
    for (int o = 0; o < OWN; o++)
        polled_add(&polled, own[o]);
    polled_add(&polled, watch->listener.listening.socket.number);
    polled_add(&polled, watch->listener.handover.own);
    for (size_t a = 0; a < watch->arrived_count; a++)
        polled_add(&polled, watch->arrived[a]);
    for (const struct spex_recorded *r = watch->recording.first; r; r = r->next) {
        polled_add(&polled, r->stream);
        polled_add(&polled, r->stream < 0 && r->caller.socket < 0 ? r->pidfd : r->caller.socket);
    }
    spex_wait_ready(polled.fds, polled.count, timeout_ms);
}

static pid_t peer_of(int socket) {
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof(peer);
    getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    return peer.pid;
}

/* The entry of a process that has not had such a connection yet, and whose other one is open or may
 * be opened again: the last, as one before may be of the program that the process was. A new one
 * where there is none. */
static struct spex_recorded *entry_of(struct spex_recording *recording, pid_t process,
                                      bool stream) {
    for (struct spex_recorded *r = recording->first; r; r = r->next)
        if (r->process == process &&
            (stream ? !r->streamed && r->caller.socket >= 0
                    : !r->called && (r->stream >= 0 || spex_recorded_may_return(r))))
            return r;
    return spex_recorded_add(recording, process);
}

/* The entry of a stream that has had a connection before, which the program has closed; NULL: there
 * is none. */
static struct spex_recorded *entry_again(const struct spex_recording *recording, pid_t process,
                                         uint64_t begun) {
    for (struct spex_recorded *r = recording->first; r && begun; r = r->next)
        if (r->process == process && r->streamed && r->begun == begun)
            return r;
    return NULL;
}

/* The first packet of a connection, of which the stream's is a header and nothing more. */
static ssize_t packet_peek(int socket, struct spex_stream_header *first) {
    *first = (struct spex_stream_header){.magic = 0};
    return recv(socket, first, sizeof(*first), MSG_PEEK | MSG_DONTWAIT);
}

/* Finds out what a connection is by its first packet. False: nothing has come yet, or what the
 * connection before has sent is taken first. */
static bool arrival_place(struct spex_record_watch *watch, int socket) {
    struct spex_stream_header first;
    ssize_t length = packet_peek(socket, &first);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    bool stream = length == (ssize_t)sizeof(first) && first.magic == SPEX_STREAM_MAGIC;
    struct spex_recorded *again =
        stream ? entry_again(&watch->recording, peer_of(socket), first.watermark) : NULL;
    if (again && again->stream >= 0)
        return false;
    struct spex_recorded *recorded =
        again ? again
        : stream || (length >= (ssize_t)sizeof(first.magic) && first.magic == SPEX_CONTROL_MAGIC)
            ? entry_of(&watch->recording, peer_of(socket), stream)
            : NULL;
    if (!recorded)
        close(socket);
    else if (stream)
        spex_recorded_stream(recorded, socket);
    else
        spex_recorded_call(recorded, socket);
    if (recorded)
        recorded->whole = true;
    if (recorded && stream)
        recorded->begun = first.watermark;
    if (recorded && stream && !again && watch->holder)
        spex_recorded_follow(recorded);
    return true;
}

static void watch_accept(struct spex_record_watch *watch) {
    int socket;
    while (watch->arrived_count < SPEX_RECORD_NEW_MAX &&
           (socket = spex_listener_accept_socket(&watch->listener)) >= 0)
        watch->arrived[watch->arrived_count++] = socket;
    size_t left = 0;
    for (size_t a = 0; a < watch->arrived_count; a++)
        if (!arrival_place(watch, watch->arrived[a]))
            watch->arrived[left++] = watch->arrived[a];
    watch->arrived_count = left;
}

/* Whether both connections have come to their end. A process that has not called in one of the two
 * ways may still do so while the other is open. */
static bool is_over(const struct spex_recording *recording, struct spex_recorded *recorded) {
    return recorded->stream < 0 && recorded->caller.socket < 0 &&
           (recording->err || !spex_recorded_may_return(recorded));
}

/* Gives profiles back to the program that has opened another connection for them. */
static void callers_join(struct spex_recording *recording) {
    for (struct spex_recorded *again = recording->first, *next; again; again = next) {
        struct spex_recorded *r = recording->first;
        next = again->next;
        if (again->streamed || !again->called || !again->caller.reader.complete)
            continue;
        while (r && !(r->streamed && r->called && r->caller.socket < 0 &&
                      spex_caller_same(&r->caller, &again->caller)))
            r = r->next;
        if (r)
            spex_recorded_join(recording, r, again);
    }
}

/* Notes a signal that asks for dumps, and makes those that are due. Returns how long the next turn
 * may wait. */
static int watch_dumps(struct spex_record_watch *watch) {
    struct spex_flight *flight = &watch->recording.flight;
    bool signalled = flight->seconds && spex_flight_signalled(flight);
    int turn_ms = TURN_MS;
    for (struct spex_recorded *r = watch->recording.first; r; r = r->next) {
        if (!r->flown)
            continue;
        if (signalled)
            spex_flown_ask(r->flown, "SIGUSR1");
        if (spex_flown_is_due(flight, r->flown))
            spex_flown_dump(flight, r->flown);
        turn_ms = r->flown->asked ? DUMP_TURN_MS : turn_ms;
    }
    return turn_ms;
}

/* The signal's descriptor of a flight recorder; -1: there is none. */
static int dump_fd(const struct spex_record_watch *watch) {
    return watch->recording.flight.seconds ? watch->recording.flight.signal_fd : -1;
}

/* The totals of all processes so far. */
static struct spex_trace_totals totals_of(const struct spex_recording *recording) {
    struct spex_trace_totals totals = recording->totals;
    for (const struct spex_recorded *r = recording->first; r; r = r->next) {
        if (!r->trace)
            continue;
        struct spex_trace_totals of = spex_trace_totals(r->trace);
        totals.records += of.records;
        totals.lost += of.lost;
    }
    return totals;
}

/* "12345678 records, 305 k/s, 0 lost, 14.2 MiB, 40.2 s": once a second, as files grow then. */
static void progress_show(struct spex_record_watch *watch) {
    double seconds;
    char rate[32], bytes[32], took[32], line[192];
    if (!watch->bar.out || !spex_progress_bar_is_due(&watch->bar, &seconds) ||
        seconds < watch->shown_seconds + 1)
        return;
    struct spex_trace_totals totals = totals_of(&watch->recording);
    double more = (double)(totals.records - watch->shown_records);
    spex_quantity_text(more / (seconds - watch->shown_seconds), NAN, "/s", rate, sizeof(rate));
    spex_quantity_text((double)watch->recording.disk.bytes, NAN, "B", bytes, sizeof(bytes));
    spex_elapsed_text(seconds, took, sizeof(took));
    snprintf(line, sizeof(line), "%llu records, %s, %llu lost, %s, %s",
             (unsigned long long)totals.records, rate, (unsigned long long)totals.lost, bytes,
             took);
    spex_progress_bar_text(&watch->bar, line);
    watch->shown_seconds = seconds;
    watch->shown_records = totals.records;
}

/* Takes what has come over all connections. True: there may be more. */
static bool watch_turn(struct spex_record_watch *watch) {
    bool more = false;
    watch_accept(watch);
    for (struct spex_recorded *r = watch->recording.first; r; r = r->next) {
        if (r->stream >= 0)
            more |= spex_recorded_take_records(&watch->recording, r);
        if (r->caller.socket >= 0)
            more |= spex_recorded_take_profiles(r);
    }
    callers_join(&watch->recording);
    for (struct spex_recorded *r = watch->recording.first, *next; r; r = next) {
        next = r->next;
        if (is_over(&watch->recording, r))
            spex_recorded_end(&watch->recording, r);
    }
    progress_show(watch);
    return more;
}

/* Whether a process that has connected has ended. What it has sent can be taken then. */
static bool all_have_ended(struct spex_record_watch *watch) {
    for (struct spex_recorded *r = watch->recording.first; r; r = r->next)
        if (!r->called || spex_recorded_runs(r))
            return false;
    return watch->arrived_count == 0;
}

static void tell_who_goes_on(const struct spex_record_watch *watch) {
    for (const struct spex_recorded *r = watch->recording.first; r; r = r->next)
        if (spex_recorded_runs(r))
            spex_complain(0,
                          "process %d (%s) still runs: it is recorded no longer, and its probes go "
                          "off now",
                          (int)r->process, r->caller.command);
}

/* Takes what is left: all of processes that have ended, and what comes within a second of those
 * that are ending. Processes that go on are recorded no longer. */
static void watch_settle(struct spex_record_watch *watch) {
    const int none[OWN] = {-1, -1, -1};
    uint64_t until_ns = spex_clock_ns(CLOCK_MONOTONIC) + SETTLE_NS;
    for (;;) {
        bool ended = all_have_ended(watch), more = watch_turn(watch);
        bool late = spex_clock_ns(CLOCK_MONOTONIC) >= until_ns;
        if (!watch->recording.first || late || (ended && !more))
            break;
        if (!more)
            watch_wait(watch, none, 10);
    }
    tell_who_goes_on(watch);
}

void spex_record_watch_program(struct spex_record_watch *watch, struct spex_launched *program,
                               struct spex_passed_signals *signals) {
    const int own[OWN] = {signals->fd, program->pidfd, dump_fd(watch)};
    bool more = false;
    int turn_ms = TURN_MS;
    while (!spex_launched_ended(program)) {
        if (!more)
            watch_wait(watch, own, turn_ms);
        spex_passed_signals_pass(signals, program);
        more = watch_turn(watch);
        turn_ms = watch_dumps(watch);
    }
    watch_settle(watch);
}

static void watch_renew(struct spex_record_watch *watch, uint32_t ms) {
    for (struct spex_recorded *r = watch->recording.first; r; r = r->next)
        spex_recorded_renew(r, watch->holder, ms);
}

void spex_record_watch_process(struct spex_record_watch *watch, int stop_fd) {
    const int own[OWN] = {stop_fd, -1, dump_fd(watch)};
    struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
    bool more = false;
    int turn_ms = TURN_MS;
    while (watch->recording.first && spex_wait_ready(&stop, 1, 0) == 0) {
        if (!more)
            watch_wait(watch, own, turn_ms);
        more = watch_turn(watch);
        turn_ms = watch_dumps(watch);
        watch_renew(watch, SPEX_HELD_LEASE_MS);
    }
    watch_renew(watch, 0);
}

void spex_record_watch_end(struct spex_record_watch *watch) {
    if (watch->bar.out)
        spex_progress_bar_end(&watch->bar);
    while (watch->recording.first)
        spex_recorded_end(&watch->recording, watch->recording.first);
    for (size_t a = 0; a < watch->arrived_count; a++)
        close(watch->arrived[a]);
    watch->arrived_count = 0;
    spex_listener_close(&watch->listener);
}
