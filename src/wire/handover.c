/* SPDX-License-Identifier: MIT */
/* The command's side of a pair of sockets that programs inherit. What arrives comes from processes
 * of other users, too, and is checked. */
#define _GNU_SOURCE
#include "wire/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The end that programs inherit has a high number, which they hardly use themselves. */
void spex_handover_open(struct spex_handover *handover) {
    int pair[2];
    *handover = SPEX_NO_HANDOVER;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return;
    handover->own = pair[0];
    handover->given = spex_descriptor_of(pair[1]);
}

static bool is_packet_socket(int fd) {
    int domain = 0, type = 0;
    socklen_t size = sizeof(int);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

/* There may be room for more than one, as space is aligned; the kernel closes those for which there
 * is none. Closes all of them but one that is wanted. */
int spex_handover_socket_of(struct msghdr *message) {
    const struct cmsghdr *head = CMSG_FIRSTHDR(message);
    int fd;
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        return -EPERM;
    size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(fd);
    for (size_t i = 0; i < count; i++) {
        memcpy(&fd, CMSG_DATA(head) + i * sizeof(fd), sizeof(fd));
        struct spex_descriptor passed = spex_descriptor_brief(fd);
        if (count == 1 && is_packet_socket(passed.number) &&
            fcntl(passed.number, F_SETFL, O_NONBLOCK) == 0)
            return passed.number;
        spex_descriptor_close(&passed);
    }
    return -EPERM;
}

static void own_close(struct spex_handover *handover) {
    if (handover->own >= 0)
        close(handover->own);
    handover->own = -1;
}

/* At the end of the connection, which a program can shut down, no program has the pair any more. */
int spex_handover_accept(struct spex_handover *handover) {
    char byte, space[CMSG_SPACE(sizeof(int))] __attribute__((aligned(sizeof(struct cmsghdr))));
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
    if (handover->own < 0)
        return -EAGAIN;
    ssize_t got = recvmsg(handover->own, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got > 0)
        return spex_handover_socket_of(&message);
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        own_close(handover);
    return -EAGAIN;
}

ssize_t spex_handover_receive(int socket, char *frame, size_t room, int *file) {
    char space[CMSG_SPACE(sizeof(int))] __attribute__((aligned(sizeof(struct cmsghdr))));
    struct iovec part = {frame, room};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
    ssize_t length = recvmsg(socket, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = length < 0 ? NULL : CMSG_FIRSTHDR(&message);
    *file = -1;
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        return length;
    for (size_t at = head->cmsg_len - CMSG_LEN(0); at >= sizeof(*file); at -= sizeof(*file)) {
        if (*file >= 0)
            close(*file);
        memcpy(file, CMSG_DATA(head) + at - sizeof(*file), sizeof(*file));
    }
    if (length == 0) {
        close(*file);
        *file = -1;
    }
    return length;
}

void spex_handover_close(struct spex_handover *handover) {
    own_close(handover);
    spex_descriptor_close(&handover->given);
}
