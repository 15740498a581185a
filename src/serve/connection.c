/* SPDX-License-Identifier: MIT */
/* One connection of the control socket: checks and carries out requests, and writes answers. The
 * other end is a process of the same user or root, but nothing that it sends is trusted: a packet
 * of wrong size or magic closes the connection, a wrong request is answered with a reason. One
 * request is handled at a time; the next is read when its answer is written. Runs on the control
 * thread alone, and no call blocks. */
#define _GNU_SOURCE
#include "serve/connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <spex/spex.h>

#include "base/clock.h"
#include "base/grown.h"
#include "collect/collector.h"
#include "collect/metrics.h"
#include "kernels/sampling_plan.h"
#include "rate/controller.h"
#include "ring/probe_type.h"
#include "serve/report.h"
#include "text/number.h"
#include "wire/handover.h"

/* Most frames at once, so that one client cannot keep the others waiting. */
enum { FRAMES_AT_ONCE = 64 };

/* Takes over the socket. The client's silence counts from now. */
void spex_connection_open(struct spex_connection *connection, struct spex_descriptor socket,
                          bool ours) {
    connection->socket = socket;
    connection->passed = SPEX_NO_DESCRIPTOR;
    connection->ours = ours;
    connection->reports = false;
    connection->waits = false;
    connection->early_ns = 0;
    connection->profiling = false;
    connection->cost_ns = 0;
    connection->rest_ms = 0;
    connection->reply.next = 0;
    connection->active_ns = spex_clock_ns(CLOCK_MONOTONIC);
}

void spex_connection_close(struct spex_connection *connection) {
    spex_descriptor_close(&connection->socket);
    spex_descriptor_close(&connection->passed);
    connection->waits = false;
    connection->reports = false;
    connection->reply.next = 0;
}

/* The client has not sent its request yet, so the answer has number 0. Whether it arrives is not
 * checked. */
void spex_connection_turn_away(struct spex_descriptor socket,
                               char buffer[SPEX_CONTROL_FRAME_BYTES]) {
    struct spex_reply reply, after;
    spex_reply_done(&reply, 0, -EBUSY);
    snprintf(reply.text, sizeof(reply.text), "too many commands are connected to this program");
    size_t bytes = spex_reply_frame(&reply, &after, buffer);
    if (spex_descriptor_is_ours(&socket))
        send(socket.number, buffer, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    spex_descriptor_close(&socket);
}

static void request_answer(struct spex_connection *connection, int status, const char *text) {
    spex_reply_done(&connection->reply, connection->request.number, status);
    snprintf(connection->reply.text, sizeof(connection->reply.text), "%s", text);
}

/* An interval of 0 ends the subscription and is answered. A subscription is answered by its first
 * report, which is due now. */
static void request_subscribe(struct spex_connection *connection) {
    uint32_t interval = connection->request.interval_ms;
    if (interval &&
        (interval < SPEX_CONTROL_INTERVAL_MIN_MS || interval > SPEX_CONTROL_INTERVAL_MAX_MS)) {
        request_answer(connection, -EINVAL, "an interval of 50 ms to a day was expected");
        return;
    }
    connection->reports = interval != 0;
    connection->interval_ms = interval;
    connection->report_number = connection->request.number;
    connection->due_ns = spex_clock_ns(CLOCK_MONOTONIC);
    connection->fetches = false;
    connection->early_ns = 0;
    if (!interval)
        spex_reply_done(&connection->reply, connection->request.number, 0);
}

/* The mask of types in a text such as "kernel, llc"; all types for an empty text; 0: a type is not
 * known. */
static uint32_t types_of(const char *text) {
    uint32_t types = 0;
    if (!*text)
        return (1u << SPEX_PROBE_TYPES) - 1;
    while (*text) {
        size_t length = strcspn(text, ",");
        uint32_t type = spex_probe_type_named(text, length);
        if (!type)
            return 0;
        types |= type;
        text += length;
        text += strspn(text, ", ");
    }
    return types;
}

/* 0: the stream has taken the socket, and the connection's place is free. Otherwise a negative
 * errno value, with a text for the user. Reports and a stream cannot share a connection, since the
 * stream writes from the collectors' threads. */
static int stream_begin(struct spex_connection *connection,
                        const struct spex_control_requests *requests, char *answer, size_t size) {
    uint32_t types = types_of(connection->text);
    bool follows = connection->request.kind == SPEX_CONTROL_STREAM_FOLLOW;
    if (connection->ours || connection->reports) {
        snprintf(answer, size, "a connection of its own was expected for a stream");
        return -EINVAL;
    }
    if (follows && connection->passed.number < 0) {
        snprintf(answer, size, "a socket for the streams of children was expected");
        return -EINVAL;
    }
    if (!types) {
        snprintf(answer, size, "types of probes were expected for a stream, not \"%.64s\"",
                 connection->text);
        return -EINVAL;
    }
    const struct spex_stream_asked asked = {.socket = connection->socket,
                                            .children = connection->passed,
                                            .types = types,
                                            .dumps = connection->request.interval_ms &
                                                     SPEX_CONTROL_STREAM_DUMPS};
    int err = requests->stream(&asked, answer, size);
    if (!err)
        connection->socket = connection->passed = SPEX_NO_DESCRIPTOR;
    return err;
}

/* Sets models by a text such as "10 0.02 /a/file" (samples, share, absolute path), or returns to
 * the process's own by an empty one. Errors as above. */
static int models_set(const char *text, const struct spex_control_requests *requests, char *answer,
                      size_t size) {
    if (!*text)
        return requests->models(NULL, 0, 0, answer, size);
    char first[32] = "", second[32] = "";
    int path = 0;
    double samples, share;
    if (sscanf(text, "%31s %31s %n", first, second, &path) != 2 || text[path] != '/' ||
        !spex_number_seconds(first, &samples) || !spex_number_seconds(second, &share) ||
        !(samples >= SPEX_SAMPLES_LEAST && samples <= SPEX_SAMPLES_MOST) ||
        !(share >= 0 && share <= 1)) {
        snprintf(answer, size, "samples, a share and a path were expected, not \"%.64s\"", text);
        return -EINVAL;
    }
    return requests->models(text + path, samples, share, answer, size);
}

static int budget_set(const char *text, const struct spex_control_requests *requests, char *answer,
                      size_t size) {
    double share;
    if (!spex_number_seconds(text, &share) || !(share >= 0 && share <= 1)) {
        snprintf(answer, size, "a share from 0 to 1 was expected, not \"%.64s\"", text);
        return -EINVAL;
    }
    return requests->budget(share, answer, size);
}

/* Answered at once: the request only waits for the collector. */
static void request_dump(struct spex_connection *connection) {
    int err = spex_dump(connection->text);
    request_answer(connection, err,
                   err == -ENOENT  ? SPEX_CONTROL_UNRECORDED
                   : err == -EBUSY ? "the program has just asked for another dump"
                                   : "");
}

static bool is_stream(uint32_t kind) {
    return kind == SPEX_CONTROL_STREAM || kind == SPEX_CONTROL_STREAM_FOLLOW;
}

static bool is_lease(uint32_t kind) {
    return kind == SPEX_CONTROL_LEASE || kind == SPEX_CONTROL_LEASE_FOLLOW ||
           kind == SPEX_CONTROL_LEASE_BUDGET;
}

/* A client names the holder of a lease by the number of its request. */
static struct spex_lease lease_of(const struct spex_control_request *request) {
    return (struct spex_lease){.ms = request->interval_ms, .holder = request->number};
}

static bool lasts_long_enough(struct spex_lease lease) {
    return lease.ms >= SPEX_CONTROL_LEASE_MIN_MS && lease.ms <= SPEX_CONTROL_LEASE_MAX_MS;
}

static const char lease_expected[] = "a lease of 50 ms to a day was expected";

/* Needs no lock of start and stop, as nothing goes on that was off. */
static void request_renew(struct spex_connection *connection) {
    struct spex_lease lease = lease_of(&connection->request);
    if (lease.ms && !lasts_long_enough(lease)) {
        request_answer(connection, -EINVAL, lease_expected);
        return;
    }
    spex_controller_renew(&lease);
    int on = spex_sites_renew(&lease);
    if (on < 0)
        spex_controller_renew(&(struct spex_lease){.holder = lease.holder});
    request_answer(connection, on, on < 0 ? "there is no such lease any more" : "");
}

/* Takes "SHARE " off the text of a selection with a budget. */
static bool budget_take(struct spex_control_selection *selection) {
    char share[32] = "";
    int behind = 0;
    if (sscanf(selection->probes, "%31s %n", share, &behind) != 1 || !selection->probes[behind] ||
        !spex_number_seconds(share, &selection->budget) || selection->budget <= 0 ||
        selection->budget > 1)
        return false;
    selection->probes += behind;
    return true;
}

/* Selects, for a while or until another selection. */
static int select_by(const struct spex_connection *connection,
                     const struct spex_control_requests *requests, bool *unmatched, char *answer,
                     size_t size) {
    uint32_t kind = connection->request.kind;
    struct spex_control_selection selection = {.probes = connection->text,
                                               .unmatched = unmatched,
                                               .follow = kind == SPEX_CONTROL_FOLLOW ||
                                                         kind == SPEX_CONTROL_LEASE_FOLLOW};
    if (is_lease(kind))
        selection.lease = lease_of(&connection->request);
    if (is_lease(kind) && !lasts_long_enough(selection.lease)) {
        snprintf(answer, size, "%s", lease_expected);
        return -EINVAL;
    }
    if (kind == SPEX_CONTROL_LEASE_BUDGET &&
        (!selection.lease.holder || !budget_take(&selection))) {
        snprintf(answer, size, "a holder, a share and a selection were expected");
        return -EINVAL;
    }
    return requests->select(&selection, answer, size);
}

/* -EBUSY: another thread starts, sets or stops spex. The request keeps waiting, and the thread
 * comes back after a millisecond (next_time in control.c). */
void spex_connection_retry(struct spex_connection *connection,
                           const struct spex_control_requests *requests) {
    if (!connection->waits)
        return;
    char answer[SPEX_CONTROL_ANSWER_BYTES] = "";
    bool unmatched = false;
    int got;
    if (is_stream(connection->request.kind))
        got = stream_begin(connection, requests, answer, sizeof(answer));
    else if (connection->request.kind == SPEX_CONTROL_BUDGET)
        got = budget_set(connection->text, requests, answer, sizeof(answer));
    else if (connection->request.kind == SPEX_CONTROL_MODELS)
        got = models_set(connection->text, requests, answer, sizeof(answer));
    else
        got = select_by(connection, requests, &unmatched, answer, sizeof(answer));
    if (got == -EBUSY)
        return;
    connection->waits = false;
    /* The stream has taken the socket: nobody is left to be answered. */
    if (!spex_connection_there(connection))
        return;
    spex_reply_done(&connection->reply, connection->request.number, got);
    connection->reply.flags = unmatched ? SPEX_CONTROL_UNMATCHED : 0;
    memcpy(connection->reply.text, answer, sizeof(answer));
}

/* Requests that need the lock of start and stop may have to wait; the others are answered at once
 * from what the control thread can read. */
static void request_carry_out(struct spex_connection *connection,
                              const struct spex_control_requests *requests) {
    switch (connection->request.kind) {
    case SPEX_CONTROL_SELECT:
    case SPEX_CONTROL_STREAM:
    case SPEX_CONTROL_STREAM_FOLLOW:
    case SPEX_CONTROL_MODELS:
    case SPEX_CONTROL_FOLLOW:
    case SPEX_CONTROL_LEASE:
    case SPEX_CONTROL_LEASE_FOLLOW:
    case SPEX_CONTROL_LEASE_BUDGET:
    case SPEX_CONTROL_BUDGET:
        connection->waits = true;
        spex_connection_retry(connection, requests);
        break;
    case SPEX_CONTROL_PROFILE:
        connection->profiling = true;
        spex_reply_profile(&connection->reply, connection->request.number, false);
        break;
    case SPEX_CONTROL_STATUS:
        spex_reply_status(&connection->reply, connection->request.number);
        break;
    case SPEX_CONTROL_RENEW:
        request_renew(connection);
        break;
    case SPEX_CONTROL_DUMP:
        request_dump(connection);
        break;
    case SPEX_CONTROL_SUBSCRIBE:
        request_subscribe(connection);
        break;
    default:
        request_answer(connection, -ENOSYS, "this program's spex does not know such a request");
    }
}

/* Checks and carries out a request. Its size and magic are right, but it may be of another
 * release. */
static void request_take(struct spex_connection *connection,
                         const struct spex_control_requests *requests, const char *text,
                         size_t bytes) {
    if (connection->request.version != SPEX_CONTROL_VERSION) {
        char why[96];
        snprintf(why, sizeof(why),
                 "this program's spex speaks version %d of the control protocol, not %u",
                 SPEX_CONTROL_VERSION, connection->request.version);
        request_answer(connection, -EPROTONOSUPPORT, why);
    } else if (bytes > SPEX_CONTROL_TEXT_BYTES) {
        request_answer(connection, -E2BIG, "the request is too long");
    } else if (memchr(text, '\0', bytes)) {
        request_answer(connection, -EINVAL, "the request's text holds a 0");
    } else {
        memcpy(connection->text, text, bytes);
        connection->text[bytes] = '\0';
        request_carry_out(connection, requests);
    }
}

/* As recv, and takes the socket that came with the packet. */
static ssize_t receive_with_socket(struct spex_connection *connection, char *buffer) {
    char space[CMSG_SPACE(sizeof(int))] __attribute__((aligned(sizeof(struct cmsghdr))));
    struct iovec part = {buffer, SPEX_CONTROL_FRAME_BYTES};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
    ssize_t length =
        recvmsg(connection->socket.number, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    int fd = length < 0 ? -1 : spex_handover_socket_of(&message);
    connection->passed = fd < 0 ? SPEX_NO_DESCRIPTOR : spex_descriptor_of(fd);
    return length;
}

/* The kernel closes what comes with other requests. These are received as ever, since a sandbox may
 * not let a program call recvmsg. */
static ssize_t packet_receive(struct spex_connection *connection, char *buffer) {
    struct spex_control_request request = {.kind = 0};
    spex_descriptor_close(&connection->passed);
    ssize_t begun =
        recv(connection->socket.number, &request, sizeof(request), MSG_DONTWAIT | MSG_PEEK);
    if (begun == (ssize_t)sizeof(request) && request.kind == SPEX_CONTROL_STREAM_FOLLOW)
        return receive_with_socket(connection, buffer);
    return recv(connection->socket.number, buffer, SPEX_CONTROL_FRAME_BYTES,
                MSG_DONTWAIT | MSG_TRUNC);
}

/* MSG_TRUNC makes recv return the packet's whole length, so that one that is too long is
 * noticed. */
enum spex_connection_end spex_connection_read(struct spex_connection *connection,
                                              const struct spex_control_requests *requests,
                                              char buffer[SPEX_CONTROL_FRAME_BYTES]) {
    if (!spex_descriptor_is_ours(&connection->socket))
        return SPEX_CONNECTION_GONE;
    ssize_t length = packet_receive(connection, buffer);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return SPEX_CONNECTION_WAITS;
    if (length < (ssize_t)sizeof(connection->request) || length > SPEX_CONTROL_FRAME_BYTES)
        return SPEX_CONNECTION_GONE;
    memcpy(&connection->request, buffer, sizeof(connection->request));
    if (connection->request.magic != SPEX_CONTROL_MAGIC)
        return SPEX_CONNECTION_GONE;
    connection->active_ns = spex_clock_ns(CLOCK_MONOTONIC);
    request_take(connection, requests, buffer + sizeof(connection->request),
                 (size_t)length - sizeof(connection->request));
    return SPEX_CONNECTION_STAYS;
}

/* The command that this process has called gets the rings with the first frame of each profile, to
 * read them when the process has died. */
static ssize_t frames_send(const struct spex_connection *connection, char *packet, size_t bytes) {
    union spex_passed_descriptor passed;
    struct iovec part = {packet, bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct spex_descriptor rings = SPEX_NO_DESCRIPTOR;
    if (!spex_descriptor_is_ours(&connection->socket)) {
        errno = EBADF;
        return -1;
    }
    if (connection->ours && connection->reply.next == SPEX_CONTROL_PROCESS) {
        spex_metrics_lock();
        rings = spex_metrics_rings();
        spex_metrics_unlock();
    }
    if (spex_descriptor_is_ours(&rings))
        spex_descriptor_pass(&message, &passed, rings.number);
    return sendmsg(connection->socket.number, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Sends the packet of frames in the buffer. */
static enum spex_connection_end packet_send(struct spex_connection *connection, char *packet,
                                            size_t bytes) {
    ssize_t sent = frames_send(connection, packet, bytes);
    if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR))
        return SPEX_CONNECTION_WAITS;
    if (sent < 0)
        return SPEX_CONNECTION_GONE;
    connection->active_ns = spex_clock_ns(CLOCK_MONOTONIC);
    return SPEX_CONNECTION_STAYS;
}

/* Frames are sent together as far as a packet holds them. They are made again at the next attempt if the
 * socket did not take it: `after` replaces the reply only once they are sent. */
static enum spex_connection_end frames_write(struct spex_connection *connection,
                                             char buffer[SPEX_CONNECTION_BUFFER_BYTES]) {
    enum spex_connection_end end = SPEX_CONNECTION_STAYS;
    struct spex_reply after = connection->reply, next;
    size_t packed = 0;
    for (int frames = 0; after.next && frames < FRAMES_AT_ONCE; frames++) {
        size_t bytes = spex_reply_frame(&after, &next, buffer + packed);
        if (packed + bytes > SPEX_CONTROL_FRAME_BYTES) {
            end = packet_send(connection, buffer, packed);
            if (end != SPEX_CONNECTION_STAYS)
                return end;
            connection->reply = after;
            memmove(buffer, buffer + packed, bytes);
            packed = 0;
        }
        packed += bytes;
        after = next;
    }
    if (packed > 0)
        end = packet_send(connection, buffer, packed);
    if (end == SPEX_CONNECTION_STAYS)
        connection->reply = after;
    return end;
}

/* What an answer takes is part of the budget. */
enum spex_connection_end spex_connection_write(struct spex_connection *connection,
                                               char buffer[SPEX_CONNECTION_BUFFER_BYTES]) {
    if (!connection->reply.next)
        return SPEX_CONNECTION_STAYS;
    uint64_t begin = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    connection->reply.next_ms = connection->rest_ms;
    enum spex_connection_end end = frames_write(connection, buffer);
    uint64_t cost = spex_grown(begin, spex_clock_ns(CLOCK_THREAD_CPUTIME_ID));
    spex_controller_charge(cost);
    spex_report_cost(connection, cost);
    return end;
}
