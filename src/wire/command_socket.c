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

static int connect_within_limit(const struct spex_descriptor *fresh,
                                const struct sockaddr_un *address) {
    int err = spex_descriptor_is_ours(fresh) ? limit_sends(fresh->number) : -EBADF;
    if (!err && connect(fresh->number, (const struct sockaddr *)address, sizeof(*address)) != 0)
        err = errno == EAGAIN ? -ETIMEDOUT : -errno;
    return err;
}

static struct spex_descriptor none(int err) {
    return (struct spex_descriptor){.number = err};
}

/* Closes it where there is an error. */
static struct spex_descriptor unless(int err, struct spex_descriptor fresh) {
    if (!err)
        return fresh;
    spex_descriptor_close(&fresh);
    return none(err);
}

static struct spex_descriptor connect_to_path(const char *path) {
    struct sockaddr_un address;
    int err = spex_socket_address(path, &address);
    if (err)
        return none(err);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return none(-errno);
    struct spex_descriptor fresh = spex_descriptor_of(fd);
    return unless(connect_within_limit(&fresh, &address), fresh);
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
struct spex_descriptor spex_command_handed(const struct spex_descriptor *handover) {
    int pair[2];
    if (!spex_descriptor_is_ours(handover))
        return none(-EBADF);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return none(-errno);
    struct spex_descriptor own = spex_descriptor_of(pair[0]);
    struct spex_descriptor given = spex_descriptor_brief(pair[1]);
    int err = spex_descriptor_is_ours(&own) ? limit_sends(own.number) : -EBADF;
    if (!err && !spex_descriptor_is_ours(&given))
        err = -EBADF;
    err = err ? err : descriptor_send(handover->number, given.number);
    spex_descriptor_close(&given);
    return unless(err, own);
}

struct spex_descriptor spex_command_socket(const char *path,
                                           const struct spex_descriptor *handover) {
    struct spex_descriptor fresh = connect_to_path(path), handed = fresh;
    if (fresh.number < 0)
        handed = spex_command_handed(handover);
    return handed.number >= 0 ? handed : fresh;
}
