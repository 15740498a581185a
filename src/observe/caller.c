/* SPDX-License-Identifier: MIT */
/* The connection of one process that reports to a command. All sockets are non-blocking; the
 * command polls them and calls spex_caller_take. One thread uses these functions; there is no
 * lock. */
#define _GNU_SOURCE
#include "observe/caller.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/client_connect.h"
#include "observe/control_client.h"
#include "observe/stand_in.h"
#include "text/printable.h"
#include "text/waits.h"
#include "wire/handover.h"
#include "wire/profile_frames.h"

/* Frames that one call of spex_caller_take receives, so that a process that sends without end
 * does not keep the others waiting. */
enum { FRAMES_MAX = 1024 };

/* Takes the name of the command from /proc. The first report replaces it by the name that the
 * process gives itself. */
static void caller_read_command(struct spex_caller *caller) {
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)caller->process);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (fgets(caller->command, sizeof(caller->command), file))
        caller->command[strcspn(caller->command, "\n")] = '\0';
    spex_make_printable(caller->command);
    fclose(file);
}

/* SO_PEERCRED has the process as this PID namespace sees it: 0 for a process of a namespace
 * that is not below ours. */
static struct ucred peer_of(int socket) {
    const struct spex_stand_in *stand_in = spex_stand_in_of(socket);
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t size = sizeof(peer);
    if (!stand_in)
        getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    else
        peer = (struct ucred){.pid = stand_in->program.process, .uid = stand_in->owner};
    return peer;
}

void spex_caller_open(struct spex_caller *caller, int socket) {
    struct ucred peer = peer_of(socket);
    *caller = (struct spex_caller){.process = peer.pid,
                                   .owner = peer.uid,
                                   .socket = socket,
                                   .pidfd = -1,
                                   .rings = -1,
                                   .unseen_records = -1,
                                   .command = "?"};
    caller->called_ns = caller->heard_ns = spex_clock_ns(CLOCK_MONOTONIC);
    if (peer.pid <= 0)
        return;
    caller->pidfd = pidfd_open(peer.pid, 0);
    caller_read_command(caller);
}

/* Keeps the caller with its last report; only the socket is gone. */
static void caller_close_socket(struct spex_caller *caller) {
    spex_client_close(caller->socket);
    caller->socket = -1;
    caller->closed_ns = spex_clock_ns(CLOCK_MONOTONIC);
}

void spex_caller_free(struct spex_caller *caller) {
    spex_client_close(caller->socket);
    if (caller->pidfd >= 0)
        close(caller->pidfd);
    if (caller->rings >= 0)
        close(caller->rings);
    spex_profile_reader_free(&caller->reader);
    spex_profile_free(&caller->shown);
}

/* A request that cannot be sent is dropped: the socket is full or closed, and the caller ends
 * by itself. */
void spex_caller_ask(struct spex_caller *caller, enum spex_control_kind kind, uint32_t number,
                     uint32_t interval_ms) {
    const struct spex_control_request request = {
        .magic = SPEX_CONTROL_MAGIC,
        .version = SPEX_CONTROL_VERSION,
        .kind = (uint16_t)kind,
        .number = number,
        .interval_ms = interval_ms,
    };
    if (spex_stand_in_of(caller->socket))
        spex_stand_in_ask(caller->socket, kind, number, interval_ms);
    else if (caller->socket >= 0)
        send(caller->socket, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* After a complete report: takes the time, the name, and the process id where SO_PEERCRED gave
 * none. */
static void caller_note_report(struct spex_caller *caller) {
    const struct spex_profile_process *process = &caller->reader.profile.process;
    caller->heard_ns = spex_clock_ns(CLOCK_MONOTONIC);
    if (process->command[0])
        memcpy(caller->command, process->command, sizeof(caller->command));
    if (caller->process <= 0)
        caller->process = (pid_t)process->process_id;
}

/* Those of the last profile: the process may have become another program. */
static void rings_keep(struct spex_caller *caller, int file) {
    if (file < 0)
        return;
    int other = caller->keeps_rings ? caller->rings : file;
    if (caller->keeps_rings)
        caller->rings = file;
    if (other >= 0)
        close(other);
}

/* Takes what a stand-in says. As caller_take_packet. */
static int caller_take_answer(struct spex_caller *caller, bool *more) {
    int taken = spex_client_stand_in_take(caller->socket, &caller->reader, &caller->error);
    *more = taken > 0;
    return taken < 0 ? -1 : taken;
}

/* Hands on the frames of a packet that is sound. */
static void frames_hand(const struct spex_caller *caller, const char *packet, size_t bytes) {
    struct spex_control_frame head;
    for (size_t at = 0; at < bytes; at += (size_t)spex_frame_bytes(&head)) {
        memcpy(&head, packet + at, sizeof(head));
        caller->frame(caller->user, packet + at, (size_t)spex_frame_bytes(&head));
    }
}

/* Receives one packet. Returns as spex_caller_take; *more becomes false when no packet is
 * waiting. The buffer is static because a packet has 64 KiB. */
static int caller_take_packet(struct spex_caller *caller, bool *more) {
    static char packet[SPEX_CONTROL_FRAME_BYTES];
    int file;
    if (spex_stand_in_of(caller->socket))
        return caller_take_answer(caller, more);
    ssize_t length = spex_handover_receive(caller->socket, packet, sizeof(packet), &file);
    rings_keep(caller, file);
    if (length < 0 && errno == EAGAIN)
        *more = false;
    /* A process that ends without reading our request resets the connection. The frames that it has
     * sent before can still be received. */
    if (length < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
        return 0;
    if (length <= 0)
        return -1;
    if ((size_t)length > sizeof(packet)) {
        spex_error_set(&caller->error, "its report is malformed");
        return -1;
    }
    int taken = spex_profile_reader_take(&caller->reader, packet, (size_t)length, &caller->error);
    if (taken >= 0 && caller->frame)
        frames_hand(caller, packet, (size_t)length);
    return taken < 0 ? -1 : taken;
}

/* The limit of frames keeps one busy process from starving the others. The connection is closed
 * at its end, and after a malformed frame, of which the reason stays in the caller. */
int spex_caller_take(struct spex_caller *caller) {
    int taken = caller->socket >= 0 ? 0 : -1;
    bool more = true;
    for (int frames = 0; taken == 0 && more && frames < FRAMES_MAX; frames++)
        taken = caller_take_packet(caller, &more);
    if (taken > 0)
        caller_note_report(caller);
    if (taken < 0 && caller->socket >= 0)
        caller_close_socket(caller);
    return taken;
}

/* A pidfd is readable when its process has ended. */
bool spex_caller_runs(struct spex_caller *caller) {
    struct pollfd fd = {.fd = caller->pidfd, .events = POLLIN};
    if (caller->pidfd >= 0 && spex_wait_ready(&fd, 1, 0) > 0) {
        close(caller->pidfd);
        caller->pidfd = -1;
    }
    return caller->pidfd >= 0;
}

double spex_caller_unseen_seconds(const struct spex_caller *caller) {
    uint64_t end_ns = caller->closed_ns ? caller->closed_ns : spex_clock_ns(CLOCK_MONOTONIC);
    return end_ns > caller->heard_ns ? (double)(end_ns - caller->heard_ns) / 1e9 : 0;
}

/* A profile begins with the process, whose id is never 0. */
bool spex_caller_silent(const struct spex_caller *caller) {
    return !caller->reader.complete && !caller->reader.incoming.process.process_id;
}

/* `loaded_ns` is when the program was loaded. A caller that has sent no report has none. The
 * later caller is the same program then if it was loaded before the first one called. */
bool spex_caller_same(const struct spex_caller *caller, const struct spex_caller *later) {
    uint64_t loaded = caller->reader.profile.process.loaded_ns;
    uint64_t later_loaded = later->reader.profile.process.loaded_ns;
    return caller->process == later->process && later_loaded &&
           (loaded ? loaded == later_loaded : later_loaded < caller->called_ns);
}
