/* SPDX-License-Identifier: MIT */
/* The client of control sockets: requests, and their answers. */
#define _GNU_SOURCE
#include "observe/control_client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/descriptor.h"
#include "observe/client_connect.h"
#include "observe/stand_in.h"
#include "text/waits.h"
#include "wire/stream_format.h"

/* Frames that are taken without waiting, so that a process that sends without end does not occupy
 * the command. */
enum { FRAMES_MAX = 1024 };

/* Signals that end the command, or -1. */
static int stop_fd = -1;

void spex_client_stop_at(int fd) {
    stop_fd = fd;
}

void spex_client_stop_later(void) {
    struct signalfd_siginfo signal;
    while (stop_fd >= 0 && read(stop_fd, &signal, sizeof(signal)) == (ssize_t)sizeof(signal))
        continue;
}

int spex_client_wait(int socket, struct spex_deadline until) {
    for (;;) {
        struct pollfd fds[2] = {{.fd = socket, .events = POLLIN},
                                {.fd = stop_fd, .events = POLLIN}};
        int ready = spex_wait_ready(fds, 2, spex_deadline_left_ms(until));
        if (fds[1].revents & POLLIN)
            return -ECANCELED;
        if (ready == 0)
            return -ETIMEDOUT;
        if (ready > 0)
            return 0;
        if (errno != EINTR)
            return -errno;
    }
}

/* Header and text go in one packet: SOCK_SEQPACKET keeps its boundaries. EPIPE and ECONNRESET
 * both mean that the program has closed the connection. */
int spex_client_send_request(int socket, const struct spex_client_request *asked,
                             struct spex_error *error) {
    if (spex_stand_in_of(socket)) {
        if (spex_stand_in_answers(asked->kind))
            return spex_stand_in_ask(socket, asked->kind, asked->number, asked->interval_ms);
        int err = spex_client_wake(socket, error);
        if (err)
            return err;
    }
    struct spex_control_request request = {
        .magic = SPEX_CONTROL_MAGIC,
        .version = SPEX_CONTROL_VERSION,
        .kind = (uint16_t)asked->kind,
        .number = asked->number,
        .interval_ms = asked->interval_ms,
    };
    struct iovec parts[2] = {
        {.iov_base = &request, .iov_len = sizeof(request)},
        {.iov_base = (void *)(uintptr_t)asked->text,
         .iov_len = asked->text ? strlen(asked->text) : 0},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    union spex_passed_descriptor passed;
    if (asked->descriptor)
        spex_descriptor_pass(&message, &passed, *asked->descriptor);
    if (parts[1].iov_len > SPEX_CONTROL_TEXT_BYTES) {
        spex_error_set(error, "the selection is longer than %d bytes", SPEX_CONTROL_TEXT_BYTES);
        return -E2BIG;
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return 0;
    int err = errno == EPIPE ? -ECONNRESET : -errno;
    spex_error_set(error, "the program cannot be reached: %s", strerror(-err));
    return err;
}

int spex_client_send_as(int socket, uint32_t number, enum spex_control_kind kind,
                        uint32_t interval_ms, const char *text, struct spex_error *error) {
    return spex_client_send_request(
        socket,
        &(struct spex_client_request){
            .kind = kind, .number = number, .interval_ms = interval_ms, .text = text},
        error);
}

int spex_client_send(int socket, enum spex_control_kind kind, uint32_t interval_ms,
                     const char *text, struct spex_error *error) {
    return spex_client_send_as(socket, 0, kind, interval_ms, text, error);
}

int spex_client_stand_in_take(int fd, struct spex_profile_reader *reader,
                              struct spex_error *error) {
    struct spex_stand_in *stand_in = spex_stand_in_of(fd);
    if (spex_dormant_look(&stand_in->program))
        return spex_stand_in_answer(fd, reader, error);
    if (stand_in->program.told.state == SPEX_DORMANT_STOPPED)
        return spex_stand_in_end(fd, reader, error);
    const struct spex_client_request asked = {
        .kind = stand_in->kind, .number = stand_in->number, .interval_ms = stand_in->interval_ms};
    int err = spex_client_wake(fd, error);
    return err ? err : spex_client_send_request(fd, &asked, error);
}

/* Receives one frame that is there. MSG_TRUNC returns the whole length of a packet, so that one
 * that is longer than a frame is recognized. As spex_profile_reader_take; -ECONNRESET. */
static int frame_take(int socket, char *frame, struct spex_profile_reader *reader,
                      struct spex_error *error) {
    if (spex_stand_in_of(socket))
        return spex_client_stand_in_take(socket, reader, error);
    ssize_t length = recv(socket, frame, SPEX_CONTROL_FRAME_BYTES, MSG_TRUNC);
    if (length < 0 && errno == EINTR)
        return 0;
    if (length <= 0)
        return -ECONNRESET;
    if (length > SPEX_CONTROL_FRAME_BYTES)
        return spex_fail(error, -EPROTO, "the program's answer is malformed");
    return spex_profile_reader_take(reader, frame, (size_t)length, error);
}

/* Receives up to `frames` frames. As spex_client_receive. */
static int receive_until(int socket, struct spex_profile_reader *reader, struct spex_deadline until,
                         long frames, struct spex_error *error) {
    char *frame = malloc(SPEX_CONTROL_FRAME_BYTES);
    int err = frame ? 0 : -ENOMEM;
    for (long n = 0; !err; n++) {
        bool late = n > 0 && frames == LONG_MAX && spex_deadline_left_ms(until) == 0;
        err = n == frames || late ? -ETIMEDOUT : spex_client_wait(socket, until);
        err = err ? err : frame_take(socket, frame, reader, error);
    }
    free(frame);
    if (err == -ETIMEDOUT)
        spex_error_set(error, "the program does not answer");
    else if (err == -ECANCELED)
        spex_error_set(error, "ended by a signal before the program has answered");
    else if (err == -ECONNRESET)
        spex_error_set(error, "the program has gone");
    else if (err == -ENOMEM)
        spex_error_set(error, "out of memory");
    return err;
}

int spex_client_receive(int socket, struct spex_profile_reader *reader, int timeout_ms,
                        struct spex_error *error) {
    return receive_until(socket, reader, spex_deadline_in(timeout_ms / 1e3),
                         timeout_ms ? LONG_MAX : FRAMES_MAX, error);
}

/* Requests whose answer need not be waited for. */
static bool is_left_to_it(enum spex_control_kind kind) {
    return kind == SPEX_CONTROL_SELECT || kind == SPEX_CONTROL_FOLLOW ||
           kind == SPEX_CONTROL_BUDGET || kind == SPEX_CONTROL_MODELS;
}

/* One attempt of spex_client_ask_until. */
static int ask_once(pid_t process, const struct spex_client_request *asked,
                    struct spex_profile_reader *reader, struct spex_deadline until,
                    struct spex_error *error) {
    int left = spex_deadline_left_ms(until);
    int most = left < SPEX_CLIENT_CONNECT_MS ? left : SPEX_CLIENT_CONNECT_MS;
    int fd = spex_client_connect(process, most > 0 ? most : 1, error);
    if (fd < 0)
        return fd;
    spex_profile_reader_restart(reader);
    bool dormant = spex_stand_in_of(fd);
    int err = spex_client_send_request(fd, asked, error);
    if (dormant && !spex_stand_in_of(fd) && is_left_to_it(asked->kind) &&
        left > SPEX_CLIENT_IDLE_MS)
        until = spex_deadline_in(SPEX_CLIENT_IDLE_MS / 1e3);
    err = err ? err : receive_until(fd, reader, until, LONG_MAX, error);
    spex_client_close(fd);
    return err > 0 ? 0 : err;
}

/* A request to a dormant program stays in its socket. */
static int silence_explain(pid_t process, enum spex_control_kind kind, struct spex_error *error) {
    if (!spex_client_is_dormant(process))
        return spex_fail(error, -ETIMEDOUT, "process %d does not answer", (int)process);
    return spex_fail(error, is_left_to_it(kind) ? -EINPROGRESS : -ETIMEDOUT,
                     "process %d has executed none of its probes since it was called, or in "
                     "handlers of signals alone; it does what was asked once it executes one",
                     (int)process);
}

/* A connection that is reset is made again; any other failure is the answer. */
static int ask_until(pid_t process, const struct spex_client_request *asked,
                     struct spex_profile_reader *reader, struct spex_deadline until,
                     struct spex_error *error) {
    int err = -ECONNRESET;
    for (int call = 0; call < SPEX_CLIENT_CALLS && err == -ECONNRESET; call++)
        err = ask_once(process, asked, reader, until, error);
    if (err == -ETIMEDOUT)
        err = silence_explain(process, asked->kind, error);
    if (!err && reader->status < 0) {
        spex_error_set(error, "%s", reader->text[0] ? reader->text : strerror(-reader->status));
        err = reader->status;
    }
    return err;
}

int spex_client_ask_until(pid_t process, enum spex_control_kind kind, const char *text,
                          struct spex_profile_reader *reader, struct spex_deadline until,
                          struct spex_error *error) {
    return ask_until(process, &(struct spex_client_request){.kind = kind, .text = text}, reader,
                     until, error);
}

/* The text of the answer is replaced, too: its reader would hear of a request that it has not
 * made. */
int spex_client_select(pid_t process, const struct spex_client_selection *selection,
                       struct spex_profile_reader *reader, struct spex_deadline until,
                       struct spex_error *error) {
    const struct spex_client_request asked = {
        .kind = selection->budgeted ? SPEX_CONTROL_LEASE_BUDGET
                : selection->lease_ms
                    ? selection->follow ? SPEX_CONTROL_LEASE_FOLLOW : SPEX_CONTROL_LEASE
                : selection->follow ? SPEX_CONTROL_FOLLOW
                                    : SPEX_CONTROL_SELECT,
        .number = selection->lease_ms ? selection->holder : 0,
        .interval_ms = selection->lease_ms,
        .text = selection->probes,
    };
    return ask_until(process, &asked, reader, until, error);
}

int spex_client_renew(pid_t process, uint32_t holder, uint32_t lease_ms, struct spex_deadline until,
                      struct spex_error *error) {
    const struct spex_client_request asked = {
        .kind = SPEX_CONTROL_RENEW, .number = holder, .interval_ms = lease_ms};
    struct spex_profile_reader reader = {0};
    int err = ask_until(process, &asked, &reader, until, error);
    spex_profile_reader_free(&reader);
    return err;
}

int spex_client_ask(pid_t process, enum spex_control_kind kind, const char *text,
                    struct spex_profile_reader *reader, struct spex_error *error) {
    return spex_client_ask_until(process, kind, text, reader,
                                 spex_deadline_in(SPEX_CLIENT_ANSWER_MS / 1e3), error);
}

int spex_client_ask_dump(pid_t process, const char *why, struct spex_error *error) {
    struct spex_profile_reader reader = {0};
    int err = spex_client_ask(process, SPEX_CONTROL_DUMP, why, &reader, error);
    spex_profile_reader_free(&reader);
    return err;
}
