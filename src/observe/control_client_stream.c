/* SPDX-License-Identifier: MIT */
/* Streams of records over a control socket. The first frame tells whether the program streams or
 * refuses: their magic numbers differ. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "observe/control_client.h"
#include "wire/stream_format.h"

/* A program that is dormant answers when it executes a probe. */
static bool is_dormant(int socket) {
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           spex_client_is_dormant(peer.pid);
}

/* Whether the next frame, which stays in the socket, is of a stream. 1, 0, or an error of
 * waiting. A call that does not wait is not interrupted. */
static int next_is_stream(int socket, struct spex_error *error) {
    uint32_t magic = 0;
    int err;
    do
        err = spex_client_wait(socket, spex_deadline_in(SPEX_CLIENT_ANSWER_MS / 1e3));
    while (err == -ETIMEDOUT && is_dormant(socket));
    if (err == -ECANCELED)
        return spex_fail(error, err, "ended by a signal before the program has answered");
    if (err)
        return spex_fail(error, err, "the program does not answer");
    return recv(socket, &magic, sizeof(magic), MSG_PEEK | MSG_DONTWAIT) == sizeof(magic) &&
           magic == SPEX_STREAM_MAGIC;
}

/* Receives the answer to a request for a stream that was refused, and sets the message. */
static int stream_refusal(int socket, struct spex_error *error) {
    struct spex_profile_reader reader = {0};
    int err = spex_client_receive(socket, &reader, 0, error);
    if (err > 0) {
        err = reader.status < 0 ? reader.status : -EPROTO;
        spex_error_set(error, "%s", reader.text[0] ? reader.text : strerror(-err));
    }
    spex_profile_reader_free(&reader);
    return err;
}

int spex_client_stream_over(int socket, const struct spex_client_stream *what,
                            struct spex_error *error) {
    const struct spex_client_request request = {
        .kind = what->children ? SPEX_CONTROL_STREAM_FOLLOW : SPEX_CONTROL_STREAM,
        .interval_ms = what->dumps ? SPEX_CONTROL_STREAM_DUMPS : 0,
        .text = what->types,
        .descriptor = what->children};
    int err = spex_client_send_request(socket, &request, error);
    int stream = err ? err : next_is_stream(socket, error);
    if (stream == 0)
        return stream_refusal(socket, error);
    return stream < 0 ? stream : 0;
}

/* One attempt of spex_client_stream. The socket, or a negative errno value. */
static int stream_once(pid_t process, const struct spex_client_stream *what,
                       struct spex_error *error) {
    int fd = spex_client_connect(process, SPEX_CLIENT_CONNECT_MS, error);
    int err = fd < 0 ? fd : spex_client_stream_over(fd, what, error);
    if (!err)
        return fd;
    if (fd >= 0)
        close(fd);
    return err;
}

int spex_client_stream(pid_t process, const struct spex_client_stream *what,
                       struct spex_error *error) {
    int err = -ECONNRESET;
    for (int call = 0; call < SPEX_CLIENT_CALLS && err == -ECONNRESET; call++)
        err = stream_once(process, what, error);
    return err;
}
