/* SPDX-License-Identifier: MIT */
/* What commands send to programs, and make of what they receive, packet by packet over a pair of
 * sockets: as clients, and as those whom programs call. */
#include "serving.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "../open_descriptors.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "observe/caller.h"

static int ours, theirs;
static size_t descriptors;

static int begin(void **state) {
    int ends[2];
    (void)state;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    ours = ends[0];
    theirs = ends[1];
    descriptors = open_descriptors();
    return 0;
}

/* Nothing that a test has opened stays open. */
static int end(void **state) {
    (void)state;
    if (open_descriptors() != descriptors)
        return -1;
    close(ours);
    close(theirs);
    return 0;
}

/* A frame, and what is in it. */
struct packet {
    struct spex_control_frame head;
    char bytes[sizeof(struct spex_profile_process)];
};

static void send_frame(uint16_t kind, uint32_t number, int32_t status, const void *entry,
                       size_t entry_bytes, size_t count) {
    struct packet packet = {.head = {.magic = SPEX_CONTROL_MAGIC,
                                     .version = SPEX_CONTROL_VERSION,
                                     .kind = kind,
                                     .number = number,
                                     .entry_bytes = (uint32_t)entry_bytes,
                                     .count = (uint32_t)count,
                                     .status = status}};
    size_t bytes = entry_bytes * count;
    if (bytes)
        memcpy(packet.bytes, entry, bytes);
    assert_true(caller_send_bytes(theirs, &packet, sizeof(packet.head) + bytes));
}

static void send_done(uint32_t number, int32_t status, const char *text) {
    send_frame(SPEX_CONTROL_DONE, number, status, text, 1, strlen(text));
}

/* The least profile: a process and a type. */
static void send_process(uint32_t process_id, uint64_t loaded_ns, const char *command) {
    struct spex_profile_process process = {.process_id = process_id, .loaded_ns = loaded_ns};
    const struct spex_profile_type type = {.probe_type = SPEX_LAT};
    strcpy(process.command, command);
    send_frame(SPEX_CONTROL_PROCESS, 1, 0, &process, sizeof(process), 1);
    send_frame(SPEX_CONTROL_TYPES, 1, 0, &type, sizeof(type), 1);
}

TEST_WITH(requests_are_as_they_were_asked, begin, end) {
    static char longest[SPEX_CONTROL_TEXT_BYTES + 2],
        got[sizeof(struct spex_control_request) + sizeof(longest)];
    const struct spex_control_request *head = (const void *)got;
    struct spex_error error;
    assert_int_equal(spex_client_send_as(ours, 42, SPEX_CONTROL_LEASE, 1234, "a:lat", &error), 0);
    assert_int_equal(recv(theirs, got, sizeof(got), 0), sizeof(*head) + 5);
    assert_int_equal(head->magic, SPEX_CONTROL_MAGIC);
    assert_int_equal(head->version, SPEX_CONTROL_VERSION);
    assert_int_equal(head->kind, SPEX_CONTROL_LEASE);
    assert_int_equal(head->number, 42);
    assert_int_equal(head->interval_ms, 1234);
    assert_memory_equal(got + sizeof(*head), "a:lat", 5);
    assert_int_equal(spex_client_send(ours, SPEX_CONTROL_PROFILE, 0, NULL, &error), 0);
    assert_int_equal(recv(theirs, got, sizeof(got), 0), sizeof(*head));
    assert_int_equal(head->number, 0);
    memset(longest, 'x', SPEX_CONTROL_TEXT_BYTES);
    assert_int_equal(spex_client_send(ours, SPEX_CONTROL_SELECT, 0, longest, &error), 0);
    assert_int_equal(recv(theirs, got, sizeof(got), 0), sizeof(*head) + SPEX_CONTROL_TEXT_BYTES);
    longest[SPEX_CONTROL_TEXT_BYTES] = 'x';
    assert_int_equal(spex_client_send(ours, SPEX_CONTROL_SELECT, 0, longest, &error), -E2BIG);
    assert_string_equal(error.text, "the selection is longer than 16384 bytes");
    close(theirs);
    assert_int_equal(spex_client_send(ours, SPEX_CONTROL_SELECT, 0, "a", &error), -ECONNRESET);
    assert_string_equal(error.text, "the program cannot be reached: Connection reset by peer");
    theirs = dup(ours);
}

static int receive(struct spex_profile_reader *reader, char text[256]) {
    struct spex_error error = {""};
    int got = spex_client_receive(ours, reader, 0, &error);
    strcpy(text, error.text);
    return got;
}

/* Without waiting: what is there, and no more than of one answer. */
TEST_WITH(answers_are_taken, begin, end) {
    struct spex_profile_reader reader = {0};
    char text[256];
    assert_int_equal(receive(&reader, text), -ETIMEDOUT);
    assert_string_equal(text, "the program does not answer");
    send_process(77, 5, "program");
    assert_int_equal(receive(&reader, text), -ETIMEDOUT);
    assert_false(reader.complete);
    send_done(1, 0, "");
    send_done(2, -EINVAL, "not so");
    assert_int_equal(receive(&reader, text), 1);
    assert_true(reader.complete);
    assert_int_equal(reader.number, 1);
    assert_int_equal(reader.profile.process.process_id, 77);
    assert_string_equal(reader.profile.process.command, "program");
    assert_int_equal(receive(&reader, text), 1);
    assert_int_equal(reader.status, -EINVAL);
    assert_string_equal(reader.text, "not so");
    shutdown(theirs, SHUT_WR);
    assert_int_equal(receive(&reader, text), -ECONNRESET);
    assert_string_equal(text, "the program has gone");
    spex_profile_reader_free(&reader);
}

/* A whole answer; then one with something behind it, and one that is cut off in its second frame. */
TEST_WITH(a_packet_holds_frames, begin, end) {
    const struct spex_control_frame heads[2] = {{.magic = SPEX_CONTROL_MAGIC,
                                                 .version = SPEX_CONTROL_VERSION,
                                                 .kind = SPEX_CONTROL_PROCESS,
                                                 .number = 3,
                                                 .entry_bytes = sizeof(struct spex_profile_process),
                                                 .count = 1},
                                                {.magic = SPEX_CONTROL_MAGIC,
                                                 .version = SPEX_CONTROL_VERSION,
                                                 .kind = SPEX_CONTROL_DONE,
                                                 .number = 3,
                                                 .entry_bytes = 1,
                                                 .next_ms = 4000}};
    const struct spex_profile_process process = {.process_id = 79};
    const size_t second = sizeof(heads[0]) + sizeof(process), whole = second + sizeof(heads[1]);
    char packet[sizeof(heads) + sizeof(process) + 1] = "", text[256];
    memcpy(packet, &heads[0], sizeof(heads[0]));
    memcpy(packet + sizeof(heads[0]), &process, sizeof(process));
    memcpy(packet + second, &heads[1], sizeof(heads[1]));
    for (size_t bytes = second; bytes <= whole + 1; bytes++) {
        struct spex_profile_reader reader = {.of_process = true};
        assert_true(caller_send_bytes(theirs, packet, bytes));
        int expected = bytes == second ? -ETIMEDOUT : bytes == whole ? 1 : -EPROTO;
        assert_int_equal(receive(&reader, text), expected);
        if (expected == 1) {
            assert_int_equal(reader.profile.process.process_id, 79);
            assert_int_equal(reader.next_ms, 4000);
        }
        spex_profile_reader_free(&reader);
    }
}

/* A later release's entries may be longer, up to what a frame has room for. */
TEST_WITH(the_longest_frame_is_taken, begin, end) {
    static char frame[SPEX_CONTROL_FRAME_BYTES + 1];
    struct spex_profile_reader reader = {0};
    struct spex_control_frame head = {.magic = SPEX_CONTROL_MAGIC,
                                      .version = SPEX_CONTROL_VERSION,
                                      .kind = SPEX_CONTROL_PROCESS,
                                      .number = 1,
                                      .entry_bytes = SPEX_CONTROL_FRAME_BYTES - sizeof(head),
                                      .count = 1};
    struct spex_profile_process process = {.process_id = 78};
    char text[256];
    memcpy(frame, &head, sizeof(head));
    memcpy(frame + sizeof(head), &process, sizeof(process));
    assert_true(caller_send_bytes(theirs, frame, SPEX_CONTROL_FRAME_BYTES));
    assert_int_equal(receive(&reader, text), -ETIMEDOUT);
    assert_int_equal(reader.incoming.process.process_id, 78);
    head.entry_bytes++;
    memcpy(frame, &head, sizeof(head));
    assert_true(caller_send_bytes(theirs, frame, sizeof(frame)));
    assert_int_equal(receive(&reader, text), -EPROTO);
    assert_string_equal(text, "the program's answer is malformed");
    spex_profile_reader_free(&reader);
}

/* Another user's process may send them. */
TEST_WITH(what_is_no_amount_is_malformed, begin, end) {
    static char frame[SPEX_CONTROL_FRAME_BYTES];
    static const double wrong[] = {-1, NAN, INFINITY, 1e301};
    static const size_t amounts[] = {offsetof(struct spex_profile_process, ticks_per_second),
                                     offsetof(struct spex_profile_process, seconds),
                                     offsetof(struct spex_profile_process, program_seconds),
                                     offsetof(struct spex_profile_process, collector_seconds),
                                     offsetof(struct spex_profile_process, budget),
                                     offsetof(struct spex_profile_process, budget_seconds),
                                     offsetof(struct spex_profile_process, budget_spent),
                                     offsetof(struct spex_profile_process, lease_seconds)};
    const struct spex_control_frame head = {.magic = SPEX_CONTROL_MAGIC,
                                            .version = SPEX_CONTROL_VERSION,
                                            .kind = SPEX_CONTROL_PROCESS,
                                            .number = 1,
                                            .entry_bytes = sizeof(struct spex_profile_process),
                                            .count = 1};
    for (size_t a = 0; a < COUNT_OF(amounts); a++)
        for (size_t w = 0; w < COUNT_OF(wrong); w++) {
            struct spex_profile_process process = {.process_id = 78};
            struct spex_profile_reader reader = {0};
            char text[256];
            memcpy((char *)&process + amounts[a], &wrong[w], sizeof(wrong[w]));
            memcpy(frame, &head, sizeof(head));
            memcpy(frame + sizeof(head), &process, sizeof(process));
            assert_true(caller_send_bytes(theirs, frame, sizeof(head) + sizeof(process)));
            if (receive(&reader, text) != -EPROTO)
                fail_msg("%g at %zu", wrong[w], amounts[a]);
            spex_profile_reader_free(&reader);
        }
}

TEST_WITH(what_is_no_frame_is_malformed, begin, end) {
    static char huge[SPEX_CONTROL_FRAME_BYTES + 1];
    struct spex_profile_reader reader = {0};
    char text[256];
    assert_true(caller_send_bytes(theirs, huge, sizeof(huge)));
    assert_int_equal(receive(&reader, text), -EPROTO);
    assert_string_equal(text, "the program's answer is malformed");
    assert_true(caller_send_bytes(theirs, huge, sizeof(struct spex_control_frame)));
    assert_int_equal(receive(&reader, text), -EPROTO);
    assert_true(text[0]);
    spex_profile_reader_free(&reader);
}

/* Whoever sends without end does not keep the command. */
TEST_WITH(endless_answers_are_left, begin, end) {
    struct spex_profile_reader reader = {0};
    char text[256];
    const int room = 16 << 20;
    unsigned sent = 0;
    struct packet packet = {.head = {.magic = SPEX_CONTROL_MAGIC,
                                     .version = SPEX_CONTROL_VERSION,
                                     .kind = SPEX_CONTROL_TYPES,
                                     .entry_bytes = sizeof(struct spex_profile_type)}};
    setsockopt(theirs, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    send_process(77, 5, "program");
    while (send(theirs, &packet, sizeof(packet.head), MSG_DONTWAIT) > 0)
        sent++;
    assert_int_equal(receive(&reader, text), -ETIMEDOUT);
    unsigned left = 0;
    while (recv(ours, &packet, sizeof(packet), MSG_DONTWAIT) > 0)
        left++;
    assert_int_equal(left, sent + 2 > 1024 ? sent + 2 - 1024 : 0);
    spex_profile_reader_free(&reader);
}

/* A signal that is to end the command ends its wait, but not one that has come before. */
TEST_WITH(signals_end_waits, begin, end) {
    struct spex_profile_reader reader = {0};
    struct spex_error error;
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    sigprocmask(SIG_BLOCK, &one, &before);
    int fd = signalfd(-1, &one, SFD_CLOEXEC | SFD_NONBLOCK);
    spex_client_stop_at(fd);
    assert_int_equal(spex_client_receive(ours, &reader, 1, &error), -ETIMEDOUT);
    raise(SIGUSR2);
    send_done(1, 0, "");
    assert_int_equal(spex_client_receive(ours, &reader, 60000, &error), -ECANCELED);
    assert_string_equal(error.text, "ended by a signal before the program has answered");
    error.text[0] = '\0';
    assert_int_equal(
        spex_client_stream_over(ours, &(struct spex_client_stream){.types = "kernel"}, &error),
        -ECANCELED);
    assert_string_equal(error.text, "ended by a signal before the program has answered");
    spex_client_stop_later();
    assert_int_equal(spex_client_receive(ours, &reader, 60000, &error), 1);
    raise(SIGUSR2);
    spex_client_stop_at(-1);
    send_done(1, 0, "");
    assert_int_equal(spex_client_receive(ours, &reader, 60000, &error), 1);
    spex_client_stop_at(fd);
    spex_client_stop_later();
    spex_client_stop_at(-1);
    close(fd);
    sigprocmask(SIG_SETMASK, &before, NULL);
    spex_profile_reader_free(&reader);
}

static unsigned frames;

static void count_frame(void *user, const char *frame, size_t bytes) {
    assert_ptr_equal(user, &frames);
    assert_true(bytes >= sizeof(struct spex_control_frame));
    assert_int_equal(((const struct spex_control_frame *)(const void *)frame)->magic,
                     SPEX_CONTROL_MAGIC);
    frames++;
}

TEST_WITH(a_caller_reports, begin, end) {
    struct spex_caller caller;
    struct spex_control_request request;
    char comm[32] = "";
    uint64_t begun = spex_clock_ns(CLOCK_MONOTONIC);
    prctl(PR_GET_NAME, comm);
    spex_caller_open(&caller, dup(ours));
    caller.frame = count_frame;
    caller.user = &frames;
    frames = 0;
    assert_int_equal(caller.process, getpid());
    assert_string_equal(caller.command, comm);
    assert_true(caller.called_ns >= begun && caller.heard_ns == caller.called_ns);
    assert_true(spex_caller_silent(&caller) && spex_caller_runs(&caller));
    spex_caller_ask(&caller, SPEX_CONTROL_SUBSCRIBE, SPEX_CALLER_INTERVAL, 250);
    assert_int_equal(recv(theirs, &request, sizeof(request), 0), sizeof(request));
    assert_int_equal(request.magic, SPEX_CONTROL_MAGIC);
    assert_int_equal(request.version, SPEX_CONTROL_VERSION);
    assert_int_equal(request.kind, SPEX_CONTROL_SUBSCRIBE);
    assert_int_equal(request.number, SPEX_CALLER_INTERVAL);
    assert_int_equal(request.interval_ms, 250);
    assert_int_equal(spex_caller_take(&caller), 0);
    send_process(77, 5, "its own");
    assert_int_equal(spex_caller_take(&caller), 0);
    assert_false(spex_caller_silent(&caller));
    assert_string_equal(caller.command, comm);
    assert_int_equal(caller.heard_ns, caller.called_ns);
    send_done(0, 0, "");
    send_process(77, 5, "");
    assert_int_equal(spex_caller_take(&caller), 1);
    assert_string_equal(caller.command, "its own");
    assert_int_equal(caller.process, getpid());
    assert_true(caller.heard_ns > caller.called_ns);
    assert_int_equal(frames, 3);
    shutdown(theirs, SHUT_WR);
    assert_int_equal(spex_caller_take(&caller), -1);
    assert_int_equal(frames, 5);
    assert_int_equal(caller.socket, -1);
    assert_string_equal(caller.error.text, "");
    assert_true(caller.closed_ns >= caller.heard_ns);
    spex_caller_ask(&caller, SPEX_CONTROL_PROFILE, 1, 0);
    spex_caller_free(&caller);
}

TEST_WITH(a_caller_that_is_malformed_is_left, begin, end) {
    static char huge[SPEX_CONTROL_FRAME_BYTES + 1];
    struct spex_caller caller;
    spex_caller_open(&caller, dup(ours));
    assert_true(caller_send_bytes(theirs, huge, sizeof(huge)));
    assert_int_equal(spex_caller_take(&caller), -1);
    assert_string_equal(caller.error.text, "its report is malformed");
    assert_int_equal(caller.socket, -1);
    spex_caller_free(&caller);
    frames = 0;
    spex_caller_open(&caller, dup(ours));
    caller.frame = count_frame;
    caller.user = &frames;
    assert_true(caller_send_bytes(theirs, huge, 100));
    assert_int_equal(spex_caller_take(&caller), -1);
    assert_true(caller.error.text[0]);
    assert_int_equal(frames, 0);
    spex_caller_free(&caller);
}

/* A command that has no standard input may get its number. */
TEST_WITH(a_caller_may_have_the_first_descriptor, begin, end) {
    struct spex_caller caller;
    struct spex_control_request request;
    int input = dup(0);
    assert_int_equal(dup2(ours, 0), 0);
    spex_caller_open(&caller, 0);
    spex_caller_ask(&caller, SPEX_CONTROL_PROFILE, SPEX_CALLER_LAST, 0);
    ssize_t asked = recv(theirs, &request, sizeof(request), MSG_DONTWAIT);
    send_process(77, 5, "its own");
    send_done(0, 0, "");
    int taken = spex_caller_take(&caller), pidfd = caller.pidfd;
    spex_caller_free(&caller);
    bool closed = fcntl(0, F_GETFD) == -1 && fcntl(pidfd, F_GETFD) == -1;
    assert_int_equal(dup2(input, 0), 0);
    close(input);
    assert_int_equal(asked, sizeof(request));
    assert_int_equal(request.number, SPEX_CALLER_LAST);
    assert_int_equal(taken, 1);
    assert_true(closed);
}

/* The same process may have been called twice, and may have become another program. */
TEST_WITH(who_is_the_same, begin, end) {
    static struct spex_caller caller, later;
    static const struct {
        pid_t process;
        uint64_t loaded, later_loaded;
        bool same;
    } cases[] = {{5, 10, 10, true}, {5, 10, 11, false}, {6, 10, 10, false}, {5, 10, 0, false},
                 {5, 0, 99, true},  {5, 0, 100, false}, {5, 0, 0, false},   {5, 0, 101, false}};
    caller.process = 5;
    caller.called_ns = 100;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        later.process = cases[c].process;
        caller.reader.profile.process.loaded_ns = cases[c].loaded;
        later.reader.profile.process.loaded_ns = cases[c].later_loaded;
        assert_int_equal(spex_caller_same(&caller, &later), cases[c].same);
    }
}

/* Of a process that has ended the descriptor is closed, and it does not run any more. */
TEST_WITH(a_caller_that_has_ended, begin, end) {
    struct spex_caller caller;
    int ends[2];
    pid_t child = fork();
    if (child == 0) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
            _exit(1);
        union spex_passed_descriptor passed;
        struct iovec part = {(char[]){"x"}, 1};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        spex_descriptor_pass(&message, &passed, ends[0]);
        _exit(sendmsg(theirs, &message, 0) == 1 ? 0 : 1);
    }
    union spex_passed_descriptor passed;
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = passed.space,
                             .msg_controllen = sizeof(passed.space)};
    assert_int_equal(recvmsg(ours, &message, MSG_CMSG_CLOEXEC), 1);
    memcpy(&ends[0], CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    spex_caller_open(&caller, ends[0]);
    assert_int_equal(caller.process, child);
    assert_false(spex_caller_runs(&caller));
    assert_int_equal(caller.pidfd, -1);
    assert_false(spex_caller_runs(&caller));
    assert_int_equal(spex_caller_take(&caller), -1);
    spex_caller_free(&caller);
    assert_int_equal(waitpid(child, NULL, 0), child);
}
