/* SPDX-License-Identifier: MIT */
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
#include "text/printable.h"

/* Of one turn, so that a process that sends without end cannot keep the others waiting. */
enum { FRAMES_AT_ONCE = 1024 };

/* Until it has said it itself. */
static void read_command(struct spex_caller *caller) {
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

void spex_caller_open(struct spex_caller *caller, int socket) {
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof(peer);
    getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    *caller =
        (struct spex_caller){.process = peer.pid, .socket = socket, .pidfd = -1, .command = "?"};
    caller->called_ns = caller->heard_ns = spex_clock_ns(CLOCK_MONOTONIC);
    if (peer.pid <= 0)
        return;
    caller->pidfd = pidfd_open(peer.pid, 0);
    read_command(caller);
}

static void close_socket(struct spex_caller *caller) {
    close(caller->socket);
    caller->socket = -1;
    caller->closed_ns = spex_clock_ns(CLOCK_MONOTONIC);
}

void spex_caller_free(struct spex_caller *caller) {
    if (caller->socket >= 0)
        close(caller->socket);
    if (caller->pidfd >= 0)
        close(caller->pidfd);
    spex_profile_reader_free(&caller->reader);
    spex_profile_free(&caller->shown);
}

void spex_caller_ask(struct spex_caller *caller, enum spex_control_kind kind, uint32_t number,
                     uint32_t interval_ms) {
    const struct spex_control_request request = {
        .magic = SPEX_CONTROL_MAGIC,
        .version = SPEX_CONTROL_VERSION,
        .kind = (uint16_t)kind,
        .number = number,
        .interval_ms = interval_ms,
    };
    if (caller->socket >= 0)
        send(caller->socket, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A complete report. */
static void note(struct spex_caller *caller) {
    const struct spex_profile_process *process = &caller->reader.profile.process;
    caller->heard_ns = spex_clock_ns(CLOCK_MONOTONIC);
    if (process->command[0])
        memcpy(caller->command, process->command, sizeof(caller->command));
    if (caller->process <= 0)
        caller->process = (pid_t)process->process_id;
}

/* As spex_caller_take, of one frame. */
static int take_frame(struct spex_caller *caller, bool *more) {
    static char frame[SPEX_CONTROL_FRAME_BYTES];
    ssize_t length = recv(caller->socket, frame, sizeof(frame), MSG_DONTWAIT | MSG_TRUNC);
    if (length < 0 && errno == EAGAIN)
        *more = false;
    /* A process that ends with a request of ours unread resets the connection; what it has sent is there still. */
    if (length < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
        return 0;
    if (length <= 0)
        return -1;
    if ((size_t)length > sizeof(frame)) {
        snprintf(caller->why, sizeof(caller->why), "its report is malformed");
        return -1;
    }
    int taken = spex_profile_reader_take(&caller->reader, frame, (size_t)length, caller->why,
                                         sizeof(caller->why));
    return taken < 0 ? -1 : taken;
}

int spex_caller_take(struct spex_caller *caller) {
    int taken = caller->socket >= 0 ? 0 : -1;
    bool more = true;
    for (int frames = 0; taken == 0 && more && frames < FRAMES_AT_ONCE; frames++)
        taken = take_frame(caller, &more);
    if (taken > 0)
        note(caller);
    if (taken < 0 && caller->socket >= 0)
        close_socket(caller);
    return taken;
}

bool spex_caller_runs(struct spex_caller *caller) {
    struct pollfd fd = {.fd = caller->pidfd, .events = POLLIN};
    if (caller->pidfd >= 0 && poll(&fd, 1, 0) > 0) {
        close(caller->pidfd);
        caller->pidfd = -1;
    }
    return caller->pidfd >= 0;
}

bool spex_caller_silent(const struct spex_caller *caller) {
    return !caller->reader.complete && !caller->reader.incoming.process.process_id;
}

/* What has said nothing is told by the time: a program that was loaded by then can only be the same. */
bool spex_caller_same(const struct spex_caller *caller, const struct spex_caller *later) {
    uint64_t loaded = caller->reader.profile.process.loaded_ns;
    uint64_t later_loaded = later->reader.profile.process.loaded_ns;
    return caller->process == later->process && later_loaded &&
           (loaded ? loaded == later_loaded : later_loaded < caller->called_ns);
}
