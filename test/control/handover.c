/* SPDX-License-Identifier: MIT */
/* The pair of sockets that programs inherit: a packet socket that comes by it is taken, and of all
 * else nothing stays open. */
#include <errno.h>
#include <sys/socket.h>

#include "../check.h"
#include "../open_descriptors.h"
#include "wire/handover.h"

/* Sends a byte with so many descriptors, as a program does. */
static void send_descriptors(const struct spex_handover *handover, const int *fds, size_t count) {
    char byte = 0;
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    memset(&control, 0, sizeof(control));
    if (count) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                        .cmsg_type = SCM_RIGHTS,
                                        .cmsg_len = CMSG_LEN(count * sizeof(int))};
        memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
    }
    assert_int_equal(sendmsg(handover->given.number, &message, 0), 1);
}

TEST(a_packet_socket_is_taken) {
    struct spex_handover handover;
    int pair[2];
    char text[8] = "";
    spex_handover_open(&handover);
    assert_true(handover.own >= 0);
    assert_int_equal(spex_handover_accept(&handover), -EAGAIN);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    send_descriptors(&handover, &pair[1], 1);
    int taken = spex_handover_accept(&handover);
    assert_true(taken >= 0);
    assert_true(fcntl(taken, F_GETFL) & O_NONBLOCK);
    assert_int_equal(fcntl(taken, F_GETFD), FD_CLOEXEC);
    assert_int_equal(send(taken, "hello", 5, 0), 5);
    assert_int_equal(recv(pair[0], text, sizeof(text), 0), 5);
    assert_string_equal(text, "hello");
    close(taken);
    close(pair[0]);
    close(pair[1]);
    spex_handover_close(&handover);
    assert_int_equal(spex_handover_accept(&handover), -EAGAIN);
    spex_handover_close(&handover);
}

TEST(nothing_else_stays_open) {
    struct spex_handover handover;
    int pair[2], streams[2], pipes[2], network = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    spex_handover_open(&handover);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, streams), 0);
    assert_int_equal(pipe(pipes), 0);
    const int several[] = {pair[0], pair[1], streams[0], pipes[0]};
    const int alone[] = {streams[0], pipes[0], pipes[1], network >= 0 ? network : streams[1]};
    size_t open = open_descriptors();
    send_descriptors(&handover, NULL, 0);
    assert_int_equal(spex_handover_accept(&handover), -EPERM);
    for (size_t a = 0; a < COUNT_OF(alone); a++) {
        send_descriptors(&handover, &alone[a], 1);
        assert_int_equal(spex_handover_accept(&handover), -EPERM);
        assert_int_equal(open_descriptors(), open);
    }
    for (size_t count = 2; count <= COUNT_OF(several); count++) {
        send_descriptors(&handover, several, count);
        assert_true(spex_handover_accept(&handover) < 0);
        assert_int_equal(open_descriptors(), open);
    }
    for (int s = 0; s < 2; s++) {
        close(pair[s]);
        close(streams[s]);
        close(pipes[s]);
    }
    if (network >= 0)
        close(network);
    spex_handover_close(&handover);
}

/* No program has the other end any more. */
TEST(an_end_closes_it) {
    struct spex_handover handover;
    spex_handover_open(&handover);
    spex_descriptor_close(&handover.given);
    assert_int_equal(spex_handover_accept(&handover), -EAGAIN);
    assert_int_equal(handover.own, -1);
    spex_handover_close(&handover);
}
