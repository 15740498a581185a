/* SPDX-License-Identifier: MIT */
/* Callers that misbehave, are slow or silent, or come in crowds. */
#include "serving.h"

#include <malloc.h>
#include <sys/resource.h>

#include "requesting.h"

/* The answer to any packet that gets one. */
static int answer_to(const void *packet, size_t bytes, char *text, size_t size) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    assert_true(caller_send_bytes(fd, packet, bytes));
    assert_int_equal(caller_receive(fd, &reader), 1);
    snprintf(text, size, "%s", reader.text);
    int answer = reader.status;
    /* It goes on being served. */
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    assert_true(reader.complete);
    spex_profile_reader_free(&reader);
    close(fd);
    return answer;
}

TEST_WITH(what_cannot_be_understood_is_refused, serving_setup, serving_teardown) {
    char text[SPEX_CONTROL_ANSWER_BYTES];
    struct spex_control_request request = request_of(99);
    struct {
        struct spex_control_request head;
        char text[SPEX_CONTROL_TEXT_BYTES + 1];
    } longer = {.head = request_of(SPEX_CONTROL_SELECT)};
    assert_int_equal(answer_to(&request, sizeof(request), text, sizeof(text)), -ENOSYS);
    request = request_of(SPEX_CONTROL_PROFILE);
    request.version++;
    assert_int_equal(answer_to(&request, sizeof(request), text, sizeof(text)), -EPROTONOSUPPORT);
    assert_non_null(strstr(text, "version"));
    request = request_of(SPEX_CONTROL_SUBSCRIBE);
    request.interval_ms = SPEX_CONTROL_INTERVAL_MIN_MS - 1;
    assert_int_equal(answer_to(&request, sizeof(request), text, sizeof(text)), -EINVAL);
    request.interval_ms = UINT32_MAX;
    assert_int_equal(answer_to(&request, sizeof(request), text, sizeof(text)), -EINVAL);
    memset(longer.text, 'a', sizeof(longer.text));
    assert_int_equal(answer_to(&longer, sizeof(longer), text, sizeof(text)), -E2BIG);
    longer.text[10] = '\0';
    assert_int_equal(answer_to(&longer, sizeof(longer.head) + 20, text, sizeof(text)), -EINVAL);
    /* The longest there may be is looked at, and has no probe. */
    longer.text[10] = 'a';
    assert_int_equal(answer_to(&longer, sizeof(longer) - 4, text, sizeof(text)), 0);
}

TEST_WITH(who_does_not_speak_the_protocol_is_left, serving_setup, serving_teardown) {
    static char huge[SPEX_CONTROL_FRAME_BYTES + 1];
    struct spex_control_request request = request_of(SPEX_CONTROL_PROFILE);
    memcpy(huge, &request, sizeof(request));
    request.magic++;
    const struct {
        const void *bytes;
        size_t length;
    } packets[] = {{"x", 1},
                   {&request, sizeof(request) - 1},
                   {&request, sizeof(request)},
                   {huge, sizeof(huge)}};
    for (size_t p = 0; p < COUNT_OF(packets); p++) {
        int fd = caller_connect();
        assert_true(caller_send_bytes(fd, packets[p].bytes, packets[p].length));
        assert_true(caller_is_dropped(fd));
        close(fd);
    }
}

TEST_WITH(who_has_said_all_gets_the_answer, serving_setup, serving_teardown) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    assert_true(caller_send(fd, SPEX_CONTROL_PROFILE, 0, NULL));
    shutdown(fd, SHUT_WR);
    assert_int_equal(caller_receive(fd, &reader), 1);
    assert_true(reader.complete);
    assert_true(caller_is_dropped(fd));
    spex_profile_reader_free(&reader);
    close(fd);
}

TEST_WITH(descriptors_that_come_along_are_closed, serving_setup, serving_teardown) {
    struct spex_control_request request = request_of(SPEX_CONTROL_PROFILE);
    struct spex_profile_reader reader = {0};
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {&request, sizeof(request)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    int fd = caller_connect(), ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    memcpy(CMSG_DATA(&control.head), &ends[1], sizeof(int));
    assert_int_equal(sendmsg(fd, &message, 0), sizeof(request));
    close(ends[1]);
    assert_int_equal(caller_receive(fd, &reader), 1);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 0); /* nobody has the other end */
    close(ends[0]);
    spex_profile_reader_free(&reader);
    close(fd);
}

static size_t allocated(void) {
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

/* Sends until nothing more is taken. */
static void stuff(int fd) {
    struct spex_control_request request = request_of(SPEX_CONTROL_PROFILE);
    while (send(fd, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue;
}

TEST_WITH(slow_readers_cost_no_memory, serving_setup, serving_teardown) {
    int slow[PLACES - 1], fd = caller_connect();
    assert_int_equal(caller_select(fd, "request.work"), 1);
    size_t before = allocated();
    for (size_t s = 0; s < COUNT_OF(slow); s++)
        stuff(slow[s] = caller_connect());
    for (int i = 0; i < 100; i++) {
        for (size_t s = 0; s < COUNT_OF(slow); s++)
            stuff(slow[s]);
        assert_int_equal(caller_select(fd, "request.work"), 1);
    }
#ifndef __SANITIZE_ADDRESS__
    assert_true(allocated() <= before + 65536);
#endif
    (void)before;
    for (size_t s = 0; s < COUNT_OF(slow); s++)
        close(slow[s]);
    close(fd);
}

/* However many come and go. */
TEST_WITH(a_thousand_callers_leave_nothing_behind, serving_setup, serving_teardown) {
    int first = dup(0);
    close(first);
    for (int i = 0; i < 1000; i++) {
        int fd = caller_connect();
        if (i % 3 == 0)
            assert_int_equal(caller_select(fd, ""), 0);
        else if (i % 3 == 1)
            assert_true(caller_send(fd, SPEX_CONTROL_PROFILE, 0, NULL));
        close(fd);
    }
    int fd = caller_connect(), last;
    assert_int_equal(caller_select(fd, ""), 0);
    close(fd);
    last = dup(0);
    close(last);
    assert_int_equal(last, first);
}

/* Fewer callers than the queue of the listening socket holds, more than there are places. */
TEST_WITH(silent_clients_make_way, serving_setup, serving_teardown) {
    int silent[PLACES + 8];
    char byte;
    for (size_t s = 0; s < COUNT_OF(silent); s++)
        silent[s] = caller_connect();
    int fd = caller_connect();
    assert_int_equal(caller_select(fd, ""), 0);
    assert_true(caller_is_dropped(silent[0]));
    /* One that no other has needed the place of keeps it, unlike all those who expire. */
    assert_int_equal(recv(silent[PLACES - 1], &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    for (size_t s = 0; s < COUNT_OF(silent); s++)
        close(silent[s]);
    close(fd);
}

TEST_WITH(a_burst_of_callers_is_served_to_the_last, serving_setup, serving_teardown) {
    int callers[PLACES * 2];
    for (size_t c = 0; c < COUNT_OF(callers); c++) {
        callers[c] = caller_connect();
        assert_true(caller_send(callers[c], SPEX_CONTROL_SELECT, 0, ""));
    }
    for (size_t c = 0; c < COUNT_OF(callers); c++) {
        struct spex_profile_reader reader = {0};
        assert_int_equal(caller_receive(callers[c], &reader), 1);
        close(callers[c]);
    }
}

TEST_WITH(who_subscribes_keeps_his_place, serving_setup, serving_teardown) {
    struct spex_profile_reader reader = {0};
    int subscribers[PLACES];
    for (size_t s = 0; s < COUNT_OF(subscribers); s++) {
        subscribers[s] = caller_connect();
        assert_true(caller_send(subscribers[s], SPEX_CONTROL_SUBSCRIBE, 60000, NULL));
        assert_int_equal(caller_receive(subscribers[s], &reader), 1);
    }
    int fd = caller_connect();
    assert_int_equal(caller_receive(fd, &reader), 1);
    assert_int_equal(reader.status, -EBUSY);
    assert_non_null(strstr(reader.text, "too many"));
    assert_true(caller_is_dropped(fd));
    close(fd);
    /* One that ends his subscription makes way. */
    assert_true(caller_send(subscribers[3], SPEX_CONTROL_SUBSCRIBE, 0, NULL));
    assert_int_equal(caller_receive(subscribers[3], &reader), 1);
    fd = caller_connect();
    assert_int_equal(caller_select(fd, ""), 0);
    close(fd);
    for (size_t s = 0; s < COUNT_OF(subscribers); s++)
        close(subscribers[s]);
    spex_profile_reader_free(&reader);
}

/* Whose queue is full: the stop waits for him, but not for ever. */
TEST_WITH(a_stop_does_not_wait_for_ever, serving_setup, serving_teardown) {
    int fd = caller_connect();
    stuff(fd);
    spex_stop();
    close(fd);
}

/* The program may have no more than `limit` descriptors, and has them. */
static void descriptors_run_out(rlim_t limit, const struct rlimit *before, int filling[64]) {
    struct rlimit none = {.rlim_cur = limit, .rlim_max = before->rlim_max};
    for (int f = 0; f < 64; f++)
        filling[f] = dup(0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(dup(0), -1);
}

/* Callers for whom there is no descriptor wait in the queue of the listening socket, and are served
 * when there is one. */
static void callers_wait_for_descriptors(rlim_t limit) {
    struct spex_profile_reader reader = {0};
    char name[SPEX_CONTROL_NAME_BYTES];
    int filling[64], waiting = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int place = open(serving_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct rlimit before;
    spex_control_name(name);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    descriptors_run_out(limit, &before, filling);
    assert_int_equal(spex_control_connect_at(waiting, place, name), 0);
    assert_true(caller_send(waiting, SPEX_CONTROL_SELECT, 0, ""));
    setrlimit(RLIMIT_NOFILE, &before);
    for (int f = 0; f < 64; f++)
        close(filling[f]);
    assert_int_equal(caller_receive(waiting, &reader), 1);
    close(place);
    close(waiting);
}

TEST_WITH(without_descriptors_callers_wait, serving_setup, serving_teardown) {
    callers_wait_for_descriptors(32);
    callers_wait_for_descriptors(0); /* where poll, too, is for none */
}

/* A client that says nothing goes after a while, one that subscribes does not. Last, since it takes
 * ten seconds. */
TEST_WITH(who_is_silent_for_long_is_left, serving_setup, serving_teardown) {
    struct spex_profile_reader reader = {0};
    int silent = caller_connect(), subscriber = caller_connect();
    assert_true(caller_send(subscriber, SPEX_CONTROL_SUBSCRIBE, 60000, NULL));
    assert_int_equal(caller_receive(subscriber, &reader), 1);
    assert_true(caller_is_dropped(silent));
    assert_true(caller_send(subscriber, SPEX_CONTROL_PROFILE, 0, NULL));
    assert_int_equal(caller_receive(subscriber, &reader), 1);
    spex_profile_reader_free(&reader);
    close(silent);
    close(subscriber);
}

static bool is_readable(int descriptor) {
    struct pollfd one = {.fd = descriptor, .events = POLLIN};
    return poll(&one, 1, 0) == 1;
}

static int polled_start(void) {
    const struct spex_options options = {.size = sizeof(options), .polls = true};
    return spex_start(&options);
}

TEST_WITH(no_thread_waits_in_a_program_that_polls, NULL, serving_teardown) {
    int threads = serving_count("/proc/self/task");
    assert_int_equal(spex_poll(), -EPERM);
    assert_int_equal(spex_poll_descriptor(), -1);
    assert_int_equal(polled_start(), 0);
    assert_int_equal(spex_poll(), 0);
    assert_false(is_readable(spex_poll_descriptor()));
    assert_int_equal(serving_count("/proc/self/task"), threads);
    int caller = caller_connect();
    assert_true(caller_send(caller, SPEX_CONTROL_SELECT, 0, ""));
    assert_true(is_readable(spex_poll_descriptor()));
    assert_int_equal(serving_count("/proc/self/task"), threads);
    assert_int_equal(spex_poll(), 1);
    struct spex_profile_reader reader = {0};
    assert_int_equal(caller_receive(caller, &reader), 1);
    spex_profile_reader_free(&reader);
    assert_true(serving_count("/proc/self/task") > threads);
    assert_int_equal(spex_poll_descriptor(), -1);
    close(caller);
    spex_stop();
    assert_int_equal(serving_count(serving_directory), 0);
}

TEST_WITH(who_polls_and_is_not_called_leaves_nothing, NULL, serving_teardown) {
    assert_int_equal(polled_start(), 0);
    assert_int_equal(serving_count(serving_directory), 1);
    spex_stop();
    assert_int_equal(serving_count(serving_directory), 0);
    assert_int_equal(polled_start(), 0);
    close(spex_poll_descriptor());
    WAIT_UNTIL(spex_poll() == 0 && fcntl(spex_poll_descriptor(), F_GETFD) >= 0);
    close(caller_connect());
    assert_true(is_readable(spex_poll_descriptor()));
}

int main(void) {
    return tests_run(serving_begin, serving_end);
}
