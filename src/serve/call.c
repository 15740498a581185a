/* SPDX-License-Identifier: MIT */
/* Connections to a command that has started this program and waits at a socket (SPEX_OUT=metrics:).
 * The command is a process of the same user, but it may be stopped or gone, so connecting is
 * bounded in time. */
#define _GNU_SOURCE
#include "serve/call.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/socket_address.h"

/* Time limit for the command to accept. */
#define CALL_SECONDS 2

/* Blocks up to the limit: many processes may connect to one command at once. The socket is
 * non-blocking afterwards. */
static int connect_within_limit(int fd, const struct sockaddr_un *address) {
    const struct timeval limit = {.tv_sec = CALL_SECONDS};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0)
        return errno == EAGAIN ? -ETIMEDOUT : -errno;
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
}

static int connect_to_path(const char *path) {
    struct sockaddr_un address;
    int err = spex_socket_address(path, &address);
    if (err)
        return err;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    err = connect_within_limit(fd, &address);
    if (err)
        close(fd);
    return err ? err : fd;
}

/* Sends a descriptor over a socket, without waiting. 0 or a negative errno value. */
static int descriptor_send(int over, int fd) {
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS}};
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control.space)};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    return sendmsg(over, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/* The command reads the process's number from the pair, which the kernel gives to both ends. */
static int connect_by_handover(const struct spex_descriptor *handover) {
    int pair[2];
    if (!spex_descriptor_is_ours(handover))
        return -EBADF;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return -errno;
    int err = descriptor_send(handover->number, pair[1]);
    close(pair[1]);
    if (err)
        close(pair[0]);
    return err ? err : pair[0];
}

int spex_call_connect(const char *path, const struct spex_descriptor *handover) {
    int fd = connect_to_path(path), handed = fd < 0 ? connect_by_handover(handover) : fd;
    return handed >= 0 ? handed : fd;
}

/* From the first to the second report. */
enum { EARLY_NS = 10000000 };

/* The command sends no request for the subscription: the program begins it, the first report at
 * once. The distance of those that follow doubles up to the interval: a process that ends early,
 * without stopping spex, has told most of what it did. */
void spex_call_open(struct spex_connection *connection, int socket, uint32_t interval_ms) {
    spex_connection_open(connection, socket, true);
    connection->reports = true;
    connection->interval_ms = interval_ms;
    connection->due_ns = spex_clock_ns(CLOCK_MONOTONIC);
    connection->early_ns = EARLY_NS;
}

/* EBADF and ENOTSOCK: the program has closed the new descriptor, or reused its number, before it
 * was connected. */
bool spex_call_again(struct spex_connection *connection, const char *path,
                     const struct spex_descriptor *handover) {
    if (!connection->ours || spex_descriptor_is_ours(&connection->socket))
        return false;
    int socket = spex_call_connect(path, handover);
    if (socket >= 0)
        spex_call_open(connection, socket, connection->interval_ms);
    return socket >= 0 || socket == -EBADF || socket == -ENOTSOCK;
}
