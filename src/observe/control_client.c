/* SPDX-License-Identifier: MIT */
/* The client of control sockets. A socket may be in several directories, which depend on the
 * user, the environment and the mount namespace of the process: process_place.h. Each of them
 * is tried, first below the root directory of the process, /proc/PID/root, and then below our
 * own. */
#define _GNU_SOURCE
#include "observe/control_client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/descriptor.h"
#include "observe/process_place.h"
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

/* Whether a user is one of the process's, or root, as whom the process may have begun. */
static bool is_user_of(const struct spex_process_place *place, uid_t user) {
    for (int u = 0; u < SPEX_PLACE_OWN_USERS; u++)
        if (place->users[u] == user)
            return true;
    return user == 0;
}

/* Checks that the process itself listens: anyone who may write to the directory could listen there
 * under its name. A socket can outlive the process that listened, and another process get its
 * number; so the listening user must be one of the process's, and the owner of the directory, too.
 * 0, or a negative errno value. */
static int peer_check(int fd, int directory, const struct spex_process_place *place) {
    struct ucred peer;
    struct stat owner;
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || fstat(directory, &owner) != 0)
        return -errno;
    return peer.pid == place->process && is_user_of(place, peer.uid) && owner.st_uid == peer.uid
               ? 0
               : -ENOENT;
}

/* Connects with a timeout, which SO_SNDTIMEO gives to connect: it waits while the queue of the
 * listening socket is full, and a program that is stopped never empties it. A timeout of 0 is no
 * limit there, so that the socket does not block then. -ETIMEDOUT: the process exists and does not
 * accept. */
static int connect_at(int fd, int place, const char *name, int timeout_ms) {
    const struct timeval limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000}, ever = {0};
    if (!timeout_ms) {
        int err = spex_control_connect_at(fd, place, name);
        return err == -EAGAIN ? -ETIMEDOUT : err;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    int err = spex_control_connect_at(fd, place, name);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &ever, sizeof(ever));
    return err == -EAGAIN ? -ETIMEDOUT : err;
}

/* The same by the name that a process gives its socket where it has no /proc, and so does not know
 * its namespace. */
static int connect_without_namespace(int fd, int directory, const char *name, int timeout_ms) {
    char short_name[SPEX_CONTROL_NAME_BYTES];
    snprintf(short_name, sizeof(short_name), "%ld-0", strtol(name, NULL, 10));
    return connect_at(fd, directory, short_name, timeout_ms);
}

/* Connects to the socket of the process in a directory, of which *in gets a descriptor if it is not
 * NULL. The socket, or a negative errno value. */
static int connect_in(const char *path, const struct spex_process_place *place, int timeout_ms,
                      int *in) {
    int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return -errno;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (timeout_ms ? 0 : SOCK_NONBLOCK), 0);
    int err = fd < 0 ? -errno : connect_at(fd, directory, place->name, timeout_ms);
    if (err == -ENOENT)
        err = connect_without_namespace(fd, directory, place->name, timeout_ms);
    err = err ? err : peer_check(fd, directory, place);
    if (err || !in)
        close(directory);
    else
        *in = directory;
    if (err && fd >= 0)
        close(fd);
    return err ? err : fd;
}

/* Chooses which of two failures is reported: -ENOENT of one directory says less than -EACCES of
 * another. */
static int worse_error(int one, int other) {
    static const int order[] = {-EMFILE, -ENFILE, -ENOMEM, -EACCES, -EPERM, -ECONNREFUSED};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (one == order[i] || other == order[i])
            return order[i];
    return other;
}

/* Whether the directories of this user are those of one before. Most processes are of one user, and
 * a chosen directory is of none. */
static bool is_tried(const struct spex_process_place *place, int user) {
    for (int u = 0; u < user; u++)
        if (place->chosen || place->users[u] == place->users[user])
            return true;
    return false;
}

/* Tries each directory below `root`. A timeout ends the search, since each other directory
 * would cost as much time. That another user's cannot be entered says nothing of a process of this
 * one. */
static int connect_below(const struct spex_process_place *place, const char *root, int timeout_ms,
                         int *in) {
    char path[SPEX_CONTROL_PATH_BYTES], whole[SPEX_CONTROL_PATH_BYTES + 32];
    int err = -ENOENT;
    for (int u = 0; u < SPEX_PLACE_USERS; u++)
        for (unsigned n = 0;
             !is_tried(place, u) &&
             spex_control_directory(n, place->chosen, place->runtime, place->users[u], path);
             n++) {
            snprintf(whole, sizeof(whole), "%s%s", root, path);
            int fd = connect_in(whole, place, timeout_ms, in);
            if (fd >= 0 || fd == -ETIMEDOUT)
                return fd;
            if (u < SPEX_PLACE_OWN_USERS || fd != -EACCES)
                err = worse_error(err, fd);
        }
    return err;
}

/* A program that writes its title over its environment, as nginx does, does not show which
 * directory was chosen for it: it may be the one that was chosen for this command. */
static int connect_chosen(const struct spex_process_place *place, int timeout_ms, int *in) {
    const char *chosen = getenv("SPEX_CONTROL");
    return chosen && chosen[0] == '/' && !place->chosen ? connect_in(chosen, place, timeout_ms, in)
                                                        : -ENOENT;
}

/* /proc/PID/root cannot be entered by other users. A process in our own mount namespace is
 * found without it. */
static int connect_to(const struct spex_process_place *place, int timeout_ms, int *in) {
    char root[32];
    snprintf(root, sizeof(root), "/proc/%d/root", (int)place->process);
    int fd = connect_below(place, root, timeout_ms, in);
    if (fd >= 0 || fd == -ETIMEDOUT)
        return fd;
    int other = connect_below(place, "", timeout_ms, in);
    if (other == -ENOENT)
        other = connect_chosen(place, timeout_ms, in);
    return other >= 0 || other == -ETIMEDOUT ? other : worse_error(fd, other);
}

/* Whether this process lacks what it needs to look, so that nothing is known of the other. */
static bool is_shortage(int err) {
    return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

/* Sets the message for a failure, and reduces it to -ETIMEDOUT, -EACCES or -ENOENT, but for a
 * shortage. */
static int connect_explain(const struct spex_process_place *place, int err,
                           struct spex_error *error) {
    if (err == -ETIMEDOUT)
        spex_error_set(error, "process %d (%s) does not answer", (int)place->process,
                       place->command);
    else if (is_shortage(err))
        spex_error_set(error, "process %d (%s) cannot be reached: %s", (int)place->process,
                       place->command, strerror(-err));
    else if (err == -EACCES || err == -EPERM)
        spex_error_set(error, "process %d (%s) is not yours: its user or root was expected",
                       (int)place->process, place->command);
    else if (place->chosen && strcmp(place->chosen, "off") == 0)
        spex_error_set(error, "process %d (%s) has SPEX_CONTROL=off", (int)place->process,
                       place->command);
    else
        spex_error_set(
            error,
            "process %d (%s) has no control socket: it was not built with spex, has not called "
            "spex_start itself, as a child of a fork has to, or has no directory for the socket",
            (int)place->process, place->command);
    if (err == -ETIMEDOUT || is_shortage(err))
        return err;
    return err == -EACCES || err == -EPERM ? -EACCES : -ENOENT;
}

/* The message names the process and its command, so that the user sees which program was meant. */
static int process_connect(pid_t process, int timeout_ms, int *in, struct spex_error *error) {
    struct spex_process_place place;
    int err = spex_process_place(process, &place);
    if (err) {
        spex_error_set(error, err == -ESRCH ? "there is no process %d" : "process %d: %s",
                       (int)process, strerror(-err));
        return err;
    }
    int fd = connect_to(&place, timeout_ms, in);
    if (fd < 0)
        fd = connect_explain(&place, fd, error);
    spex_process_place_free(&place);
    return fd;
}

int spex_client_connect(pid_t process, int timeout_ms, struct spex_error *error) {
    return process_connect(process, timeout_ms, NULL, error);
}

int spex_client_directory(pid_t process, int timeout_ms, struct spex_error *error) {
    int directory = -1;
    int fd = process_connect(process, timeout_ms, &directory, error);
    if (fd < 0)
        return fd;
    close(fd);
    return directory;
}

/* Header and text go in one packet: SOCK_SEQPACKET keeps its boundaries. EPIPE and ECONNRESET
 * both mean that the program has closed the connection. */
int spex_client_send_request(int socket, const struct spex_client_request *asked,
                             struct spex_error *error) {
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

/* Receives one frame that is there. MSG_TRUNC returns the whole length of a packet, so that one
 * that is longer than a frame is recognized. As spex_profile_reader_take; -ECONNRESET. */
static int frame_take(int socket, char *frame, struct spex_profile_reader *reader,
                      struct spex_error *error) {
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
    int err = spex_client_send_request(fd, asked, error);
    err = err ? err : receive_until(fd, reader, until, LONG_MAX, error);
    close(fd);
    return err > 0 ? 0 : err;
}

/* A connection that is reset is made again; any other failure is the answer. */
static int ask_until(pid_t process, const struct spex_client_request *asked,
                     struct spex_profile_reader *reader, struct spex_deadline until,
                     struct spex_error *error) {
    int err = -ECONNRESET;
    for (int call = 0; call < SPEX_CLIENT_CALLS && err == -ECONNRESET; call++)
        err = ask_once(process, asked, reader, until, error);
    if (err == -ETIMEDOUT)
        spex_error_set(error, "process %d does not answer", (int)process);
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

int spex_client_has_socket(pid_t process) {
    struct spex_error error;
    int fd = spex_client_connect(process, 0, &error);
    if (fd >= 0)
        close(fd);
    return is_shortage(fd) ? fd : fd >= 0 || fd == -ETIMEDOUT;
}
