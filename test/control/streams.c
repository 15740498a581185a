/* SPDX-License-Identifier: MIT */
/* Streams that commands ask a running program for: what comes over them, who is refused, and that
 * no reader, however it behaves, is anything to the program or to the others. */
#include "../interrupted_calls.h"

#include "serving.h"

#include <sys/wait.h>

#include <spex/kernel.h>

#include "wire/handover.h"
#include "wire/stream_check.h"
#include "wire/stream_records.h"

#include "../children.h"
#include "../unit/messages.h"

enum { OUTER = 95, INNER, COUNTED };

SPEX_PROBE_NAME(OUTER, "streams.outer");
SPEX_PROBE_NAME(INNER, "streams.inner");
SPEX_PROBE_NAME(COUNTED, "streams.counted");

/* What one reader has got. */
struct got {
    uint64_t frames[SPEX_STREAM_THREADS + 1];
    uint64_t records;
    uint64_t contexts;
    uint64_t sites;
    uint64_t last_value; /* of INNER's parameter */
    uint64_t lost;
    uint32_t types;
    bool over;
};

COMPILED_ONCE static void work(uint64_t first, uint64_t executions) {
    for (uint64_t i = first; i < first + executions; i++) {
        KERNEL_PROBE_BEGIN(OUTER, 1);
        KERNEL_PROBE_BEGIN(INNER, 1, i);
        __asm__ volatile("" ::: "memory");
        KERNEL_PROBE_END(INNER);
        KERNEL_PROBE_END(OUTER);
        CNT_PROBE_BEGIN(COUNTED, 1);
        CNT_PROBE_END(COUNTED);
    }
}

static int stream_open(const char *types) {
    struct spex_error error;
    int fd = caller_connect();
    if (spex_client_stream_over(fd, &(struct spex_client_stream){.types = types}, &error) != 0)
        fail_msg("%s", error.text);
    return fd;
}

/* The status and the reason of a request that is refused. */
static int refused(const char *types, struct spex_error *error) {
    int fd = caller_connect();
    int err = spex_client_stream_over(fd, &(struct spex_client_stream){.types = types}, error);
    close(fd);
    return err;
}

static void frame_take(struct got *got, const char *packet, size_t length) {
    static struct spex_stream_probes probes;
    static struct spex_record room[SPEX_STREAM_RECORDS_MAX];
    const struct spex_record *records;
    struct spex_error error;
    struct spex_stream_header header;
    assert_true(length >= sizeof(header));
    memcpy(&header, packet, sizeof(header));
    assert_int_equal(header.magic, SPEX_STREAM_MAGIC);
    assert_true(header.kind <= SPEX_STREAM_CONTEXTS || header.kind >= SPEX_STREAM_PACKED);
    got->frames[header.kind]++;
    got->lost = header.lost;
    for (uint32_t s = 0; header.kind == SPEX_STREAM_SITES && s < header.count; s++) {
        struct spex_stream_site site;
        spex_stream_take_site(packet, s, &site);
        spex_stream_probes_note(&probes, &site);
    }
    spex_stream_threads_note(&probes, packet);
    assert_int_equal(spex_stream_records(&probes, packet, room, &records, &error), 0);
    for (uint32_t r = 0; records && r < header.count; r++) {
        got->records++;
        got->types |= records[r].probe_type;
        if (records[r].probe_id == INNER)
            got->last_value = records[r].fields[SPEX_KERNEL_VALUES];
    }
    got->contexts += header.kind == SPEX_STREAM_CONTEXTS ? header.count : 0;
    got->sites += header.kind == SPEX_STREAM_SITES ? header.count : 0;
}

/* What is there. */
static void read_all(int fd, struct got *got) {
    static _Alignas(uint64_t) char packet[SPEX_STREAM_FRAME_BYTES];
    ssize_t length;
    while ((length = recv(fd, packet, sizeof(packet), MSG_DONTWAIT)) > 0)
        frame_take(got, packet, (size_t)length);
    got->over = length == 0 || (length < 0 && errno != EAGAIN);
}

static bool has_read(int fd, struct got *got, uint64_t records) {
    read_all(fd, got);
    return got->records >= records;
}

TEST_WITH(a_stream_brings_what_is_on, serving_setup, serving_teardown) {
    struct got got = {.over = false};
    int fd = stream_open("kernel");
    spex_set("streams.*");
    work(0, 100);
    WAIT_UNTIL(has_read(fd, &got, 200));
    assert_int_equal(got.frames[SPEX_STREAM_HELLO], 1);
    assert_int_equal(got.sites, status_now().sites);
    assert_int_equal(got.contexts, 2);
    assert_int_equal(got.records, 200);
    assert_int_equal(got.types, SPEX_KERNEL);
    assert_int_equal(got.last_value, 99);
    assert_int_equal(got.lost, 0);
    spex_stop();
    read_all(fd, &got);
    assert_int_equal(got.frames[SPEX_STREAM_END], 1);
    assert_true(got.over);
    close(fd);
}

/* Nothing has been collected yet, and nothing is. */
TEST_WITH(one_that_nothing_came_of_is_ended, serving_setup, serving_teardown) {
    struct got got = {.over = false};
    int fd = stream_open("");
    spex_stop();
    read_all(fd, &got);
    assert_int_equal(got.frames[SPEX_STREAM_END], 1);
    assert_true(got.over);
    close(fd);
}

TEST_WITH(two_get_the_same, serving_setup, serving_teardown) {
    struct got one = {.over = false}, other = {.over = false};
    int fd = stream_open("kernel"), second = stream_open("");
    spex_set("streams.*");
    work(0, 50);
    WAIT_UNTIL(has_read(fd, &one, 100));
    WAIT_UNTIL(has_read(second, &other, 150));
    assert_int_equal(one.records, 100);
    assert_int_equal(other.records, 150);
    assert_int_equal(other.types, SPEX_KERNEL | SPEX_CNT);
    close(fd);
    close(second);
}

TEST_WITH(so_many_and_no_more, serving_setup, serving_teardown) {
    int fds[4];
    struct spex_error error;
    for (size_t s = 0; s < COUNT_OF(fds); s++)
        fds[s] = stream_open("");
    assert_int_equal(refused("", &error), -EUSERS);
    assert_non_null(strstr(error.text, "streams to 4 others already"));
    /* One that has gone makes room, though all is at rest. */
    close(fds[2]);
    fds[2] = stream_open("");
    for (size_t s = 0; s < COUNT_OF(fds); s++)
        close(fds[s]);
}

TEST_WITH(readers_may_go_without_a_word, serving_setup, serving_teardown) {
    struct got got = {.over = false};
    messages_begin();
    spex_set("streams.*");
    int stays = stream_open("kernel");
    for (uint64_t i = 0; i < 20; i++) {
        int fd = stream_open("kernel");
        work(i * 10, 10);
        close(fd);
    }
    WAIT_UNTIL(has_read(stays, &got, 400));
    WAIT_UNTIL(status_now().pending == 0);
    assert_int_equal(status_now().undelivered, 0);
    assert_int_equal(status_now().lost, 0);
    close(stays);
    spex_stop();
    assert_null(strstr(messages_end(), "spex:"));
}

/* It reads nothing at all: the other gets everything, and it is told what it has missed. */
TEST_WITH(a_reader_that_sleeps_holds_nobody_up, serving_setup, serving_teardown) {
    struct got awake = {.over = false}, slept = {.over = false};
    int fd = stream_open("kernel"), asleep = stream_open("kernel");
    uint64_t made = 0;
    spex_set("streams.outer,streams.inner");
    for (; made < 40000; made += 250) {
        work(made, 250);
        WAIT_UNTIL(has_read(fd, &awake, 2 * made));
    }
    WAIT_UNTIL(has_read(fd, &awake, 2 * made));
    assert_int_equal(awake.lost, 0);
    assert_int_equal(status_now().lost, 0);
    assert_int_equal(status_now().undelivered, 0);
    /* Since the last frame that has reached it there may have been more. */
    WAIT_UNTIL((read_all(asleep, &slept), slept.records + slept.lost == 2 * made));
    assert_true(slept.lost > 0);
    assert_int_equal(slept.contexts, 2);
    close(fd);
    close(asleep);
}

TEST_WITH(what_is_no_type_is_refused, serving_setup, serving_teardown) {
    struct spex_profile_reader reader = {0};
    struct spex_error error;
    assert_int_equal(refused("kernel,soup", &error), -EINVAL);
    assert_string_equal(error.text,
                        "types of probes were expected for a stream, not \"kernel,soup\"");
    int fd = caller_connect();
    assert_true(caller_send(fd, SPEX_CONTROL_SUBSCRIBE, 60000, NULL));
    assert_int_equal(caller_receive(fd, &reader), 1);
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_STREAM, "", &reader), -EINVAL);
    assert_non_null(strstr(reader.text, "a connection of its own"));
    spex_profile_reader_free(&reader);
    close(fd);
}

TEST_WITH(the_child_of_a_fork_has_none, serving_setup, serving_teardown) {
    struct got got = {.over = false};
    int fd = stream_open("kernel"), ended = 0;
    spex_set("streams.outer");
    work(0, 10);
    pid_t child = fork();
    if (child == 0) {
        work(0, 10);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    work(10, 10);
    WAIT_UNTIL(has_read(fd, &got, 20));
    spex_stop();
    read_all(fd, &got);
    assert_int_equal(got.records, 20);
    assert_int_equal(got.frames[SPEX_STREAM_END], 1);
    close(fd);
}

TEST_WITH(what_is_no_socket_is_refused, serving_setup, serving_teardown) {
    int pipes[2], fd = caller_connect();
    struct spex_error error;
    assert_int_equal(pipe(pipes), 0);
    const struct spex_client_stream what = {.types = "", .children = &pipes[1]};
    assert_int_equal(spex_client_stream_over(fd, &what, &error), -EINVAL);
    assert_string_equal(error.text, "a socket for the streams of children was expected");
    close(pipes[0]);
    close(pipes[1]);
    close(fd);
}

/* The child makes records if it goes on with its parent's probes, and otherwise ends with 1. */
static int child_ends_with(void) {
    int ended = 0;
    pid_t child = fork();
    if (child == 0) {
        work(0, 7);
        int started = spex_poll() != -EPERM;
        spex_stop();
        _exit(!started);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    return WEXITSTATUS(ended);
}

TEST_WITH(children_stream_by_the_socket_that_came_along, serving_setup, serving_teardown) {
    struct spex_handover handover;
    struct got got = {.over = false}, of_child = {.over = false};
    struct spex_error error;
    SKIP_WITHOUT_FOLLOWERS();
    int fd = caller_connect();
    spex_handover_open(&handover);
    const struct spex_client_stream what = {.types = "kernel", .children = &handover.given.number};
    assert_int_equal(spex_client_stream_over(fd, &what, &error), 0);
    assert_true(spex_set("streams.outer") > 0);
    work(0, 10);
    assert_int_equal(child_ends_with(), 0);
    int theirs = spex_handover_accept(&handover);
    assert_true(theirs >= 0);
    read_all(theirs, &of_child);
    assert_int_equal(of_child.records, 7);
    assert_int_equal(of_child.frames[SPEX_STREAM_END], 1);
    close(theirs);
    spex_handover_close(&handover);
    assert_int_equal(child_ends_with(), 1);
    WAIT_UNTIL(has_read(fd, &got, 10));
    assert_int_equal(got.records, 10);
    close(fd);
}

int main(void) {
    return tests_run(serving_begin, serving_end);
}
