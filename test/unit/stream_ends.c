/* SPDX-License-Identifier: MIT */
/* The stream when one of its ends goes: receivers that leave or take nothing, forks, sockets that
 * cannot be connected. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <spex/spex.h>

#include "../capture.h"
#include "../check.h"
#include "../status.h"
#include "messages.h"
#include "stream_received.h"
#include "wire/stream_format.h"

TEST_WITH(a_receiver_that_leaves_is_no_harm, setup, teardown) {
    struct spex_status before = status_now();
    receiver_start(2); /* HELLO and SITES: without them spex would not start */
    assert_int_equal(start("stream.*", 2, 0), 0);
    receiver_join();
    threads_run();
    spex_stop();
    struct spex_status now = status_now();
    uint64_t records = 2 * THREADS * EACH;
    assert_int_equal(receiver.frames[0].header.kind, SPEX_STREAM_HELLO);
    assert_int_equal(now.produced - before.produced, records);
    assert_int_equal(now.consumed - before.consumed + now.lost - before.lost, records);
    assert_int_equal(now.undelivered - before.undelivered, now.consumed - before.consumed);
    assert_int_equal(now.pending, 0);
}

/* The collector waits for it a while, the program never. */
TEST_WITH(a_receiver_that_takes_nothing_is_given_up, setup, teardown) {
    struct spex_status before = status_now();
    assert_int_equal(start("stream.*", 1, 0), 0);
    for (int round = 0; round < 4; round++)
        threads_run();
    spex_stop();
    struct spex_status now = status_now();
    assert_int_equal(now.produced - before.produced, 4 * 2 * THREADS * EACH);
    assert_int_equal(now.produced, now.consumed + now.lost);
    assert_true(now.undelivered > before.undelivered);
    assert_true(now.undelivered - before.undelivered <= now.consumed - before.consumed);
}

/* The stream is the parent's: its child neither ends it nor writes to it. */
TEST_WITH(a_forked_child_keeps_out_of_the_stream, setup, teardown) {
    receiver_start(ALL_FRAMES);
    assert_int_equal(start("stream.second", 1, 0), 0);
    execute(0, 1);
    pid_t child = fork();
    if (child == 0) {
        execute(0, 2);
        _exit(spex_stop());
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    execute(0, 3);
    spex_stop();
    receiver_join();
    check_headers(1);
    memset(seen, 0, sizeof(seen));
    assert_int_equal(for_each_record(see_snapshot), 2);
    assert_int_equal(seen[0][1] + seen[0][3], 2);
}

static void expect_no_connection(const char *path, int err) {
    char out[300];
    struct spex_options options = {.size = sizeof(options), .probes = "*", .out = out};
    snprintf(out, sizeof(out), "unix:%s", path);
    messages_begin();
    int got = spex_start(&options);
    const char *text = messages_end();
    assert_int_equal(got, 0);
    if (!strstr(text, path) || !strstr(text, strerror(err)))
        fail_msg("%s: %s", path, text);
    assert_int_equal(status_now().collectors, 0);
    assert_int_equal(status_now().sites_on, 0);
    spex_stop();
}

TEST_WITH(a_bad_socket_is_named, setup, teardown) {
    char path[200];
    memset(path, 'x', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    expect_no_connection(path, ENAMETOOLONG);
    path[sizeof(((struct sockaddr_un *)0)->sun_path)] = '\0'; /* one too long */
    expect_no_connection(path, ENAMETOOLONG);
    expect_no_connection("/nowhere/at/all", ENOENT);
    expect_no_connection("/dev/null", ECONNREFUSED);
    expect_no_connection("", ENOENT);
}

/* The end of the stream that is spex's, by the address it is connected to. */
static int stream_find(void) {
    struct sockaddr_un peer;
    for (int fd = 3; fd < 65536; fd++) {
        socklen_t length = sizeof(peer);
        memset(&peer, 0, sizeof(peer));
        if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 && peer.sun_family == AF_UNIX &&
            strcmp(peer.sun_path, receiver.path) == 0)
            return fd;
    }
    return -1;
}

/* A program closes all descriptors that it does not know, as a daemon does, and spex's number
 * becomes that of a socket of its own. The gate holds the collector meanwhile: nobody can close a
 * descriptor safely while it is being written to. */
TEST_WITH(a_descriptor_that_is_no_longer_ours_is_left_alone, setup, teardown) {
    struct spex_status before = status_now();
    int pair[2];
    char packet[SPEX_STREAM_FRAME_BYTES];
    pthread_mutex_lock(&gate);
    capture_start(gated_see, NULL);
    receiver_start(ALL_FRAMES);
    assert_int_equal(start("stream.first", 1, 1), 0);
    int number = stream_find();
    assert_true(number >= 0);
    execute(0, 1);
    while (status_now().consumed == before.consumed)
        sched_yield();
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_int_equal(dup2(pair[0], number), number);
    close(pair[0]);
    pthread_mutex_unlock(&gate);
    for (uint64_t i = 2; i <= 100; i++)
        execute(0, i);
    spex_stop();
    receiver_join();
    assert_int_equal(recv(pair[1], packet, sizeof(packet), MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN); /* not the end: the other side is open */
    assert_int_equal(for_each_record(see_site), 0);
    assert_int_equal(status_now().consumed, before.consumed + 100);
    assert_int_equal(status_now().undelivered, before.undelivered + 100);
    close(number);
    close(pair[1]);
}
