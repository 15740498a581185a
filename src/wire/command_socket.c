/* SPDX-License-Identifier: MIT */
/* The command is a process of the user who has started this program, but it may be stopped or
 * gone, so connecting and sending are bounded in time. */
#define _GNU_SOURCE
#include "wire/command_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "wire/socket_address.h"

/* Time limit for the command to accept, and to take a packet. */
#define SEND_SECONDS 2

/* connect waits as long as a send may: many processes may connect to one command at once. */
static int limit_sends(int fd) {
    const struct timeval limit = {.tv_sec = SEND_SECONDS};
    return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 ? 0 : -errno;
}

static int connect_within_limit(int fd, const struct sockaddr_un *address) {
    int err = limit_sends(fd);
    if (!err && connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0)
        err = errno == EAGAIN ? -ETIMEDOUT : -errno;
    return err;
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
    union spex_passed_descriptor passed;
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    spex_descriptor_pass(&message, &passed, fd);
    return sendmsg(over, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/* The command reads the process's number from the pair, which the kernel gives to both ends. */
int spex_command_handed(const struct spex_descriptor *handover) {
    int pair[2];
    if (!spex_descriptor_is_ours(handover))
        return -EBADF;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -errno;
    int err = limit_sends(pair[0]);
    err = err ? err : descriptor_send(handover->number, pair[1]);
    close(pair[1]);
    if (err)
        close(pair[0]);
    return err ? err : pair[0];
}

int spex_command_socket(const char *path, const struct spex_descriptor *handover) {
    int fd = connect_to_path(path), handed = fd < 0 ? spex_command_handed(handover) : fd;
    return handed >= 0 ? handed : fd;
}
