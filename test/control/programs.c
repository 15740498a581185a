/* SPDX-License-Identifier: MIT */
/* What programs do to their control socket: they fork, close descriptors that they do not know, put
 * their own files in the places of ours, call a command, exit. */
#include "../children.h"
#include "../status.h"
#include "../unit/messages.h"
#include "base/clock.h"
#include "base/grown.h"
#include "rate/controller.h"
#include "serve/call.h"
#include "serve/report.h"
#include "serving.h"

#include <math.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

enum { WORK = 95 };

SPEX_PROBE_NAME(WORK, "program.work");

COMPILED_ONCE static void work(unsigned executions) {
    for (unsigned i = 0; i < executions; i++) {
        LAT_PROBE_BEGIN(WORK, 1);
        __asm__ volatile("" ::: "memory");
        LAT_PROBE_END(WORK);
    }
}

static int stop(void **state) {
    (void)state;
    unsetenv("SPEX_FORKS");
    unsetenv("SPEX_OUT");
    return spex_stop();
}

/* A child and a pipe to it and one from it. */
struct child {
    pid_t process;
    int to, from;
};

static struct child child_start(int (*run)(int from, int to)) {
    int to[2], from[2];
    assert_true(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    pid_t process = fork();
    if (process == 0) {
        close(to[1]);
        close(from[0]);
        int result = run(to[0], from[1]);
        spex_stop();
        _exit(result); /* what its parent had is not freed in it */
    }
    close(to[0]);
    close(from[1]);
    return (struct child){process, to[1], from[0]};
}

static void child_await(const struct child *child) {
    char byte;
    assert_int_equal(read(child->from, &byte, 1), 1);
}

static void child_end(struct child *child) {
    int status_of = -1;
    close(child->to);
    waitpid(child->process, &status_of, 0);
    close(child->from);
    assert_int_equal(status_of, 0);
}

/* Works a hundred times when it is told to, and ends when there is nothing more to hear. */
static int obey(int from, int to) {
    char byte;
    if (write(to, "", 1) != 1)
        return 1;
    while (read(from, &byte, 1) == 1) {
        work(100);
        if (write(to, "", 1) != 1)
            return 1;
    }
    return 0;
}

static int look(int from, int to) {
    bool alone = getenv("TEST_EMULATED") || serving_count("/proc/self/task") == 1;
    return !alone || status_now().sites_on ? 1 : obey(from, to);
}

TEST_WITH(a_child_does_not_serve, serving_setup, stop) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    assert_int_equal(caller_select(fd, "program.*"), 1);
    struct child child = child_start(look);
    child_await(&child);
    assert_int_equal(caller_connect_to(child.process), -ENOENT);
    assert_int_equal(serving_count(serving_directory), 1);
    child_end(&child);
    /* The parent's has not gone with it, nor has its client. */
    assert_int_equal(serving_count(serving_directory), 1);
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    assert_int_equal(reader.profile.process.sites_on, 1);
    close(fd);
    close(caller_connect());
    spex_profile_reader_free(&reader);
}

TEST_WITH(a_child_that_follows_has_its_own, serving_setup, stop) {
    struct spex_profile_reader reader = {0};
    SKIP_WITHOUT_FOLLOWERS();
    spex_stop();
    setenv("SPEX_FORKS", "follow", 1);
    assert_int_equal(serving_start("program.*"), 0);
    work(30);
    int parent = caller_connect();
    struct child child = child_start(obey);
    child_await(&child);
    int fd = caller_connect_to(child.process);
    assert_true(fd >= 0);
    assert_int_equal(write(child.to, "", 1), 1);
    child_await(&child);
    do
        assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    while (reader.profile.process.consumed < 100);
    assert_int_equal(reader.profile.process.process_id, child.process);
    assert_int_equal(reader.profile.process.produced, 100);
    assert_int_equal(reader.profile.process.sites_on, 1);
    assert_int_equal(caller_select(fd, ""), 0);
    assert_int_equal(status_now().sites_on, 1);
    close(fd);
    child_end(&child);
    assert_int_equal(caller_ask(parent, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    assert_int_equal(reader.profile.process.produced, 30);
    assert_int_equal(serving_count(serving_directory), 1);
    spex_profile_reader_free(&reader);
    close(parent);
}

/* As in a program that has changed its root after its start. */
TEST_WITH(a_child_without_a_directory_says_nothing, serving_setup, stop) {
    char away[sizeof(serving_directory) + 8];
    SKIP_WITHOUT_FOLLOWERS();
    spex_stop();
    setenv("SPEX_FORKS", "follow", 1);
    assert_int_equal(serving_start("program.*"), 0);
    snprintf(away, sizeof(away), "%s.away", serving_directory);
    assert_int_equal(rename(serving_directory, away), 0);
    int file = open(serving_directory, O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* no directory */
    messages_begin();
    struct child child = child_start(obey);
    child_end(&child);
    const char *text = messages_end();
    close(file);
    assert_int_equal(unlink(serving_directory), 0);
    assert_int_equal(rename(away, serving_directory), 0);
    assert_string_equal(text, "");
}

/* From the request on, without SPEX_FORKS. */
TEST_WITH(a_command_can_ask_children_to_follow, serving_setup, stop) {
    struct spex_profile_reader reader = {0};
    SKIP_WITHOUT_FOLLOWERS();
    int fd = caller_connect();
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_FOLLOW, "program.work@3", &reader), 1);
    struct child child = child_start(obey);
    child_await(&child);
    int other = caller_connect_to(child.process);
    assert_true(other >= 0);
    assert_int_equal(caller_ask(other, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    assert_string_equal(reader.profile.process.selection, "program.work@3");
    close(other);
    close(fd);
    child_end(&child);
    spex_profile_reader_free(&reader);
}

/* Also one that nothing is selected in. */
TEST_WITH(a_child_that_follows_can_be_called, serving_setup, stop) {
    SKIP_WITHOUT_FOLLOWERS();
    spex_stop();
    setenv("SPEX_FORKS", "follow", 1);
    assert_int_equal(serving_start(NULL), 0);
    struct child child = child_start(obey);
    child_await(&child);
    int fd = caller_connect_to(child.process);
    assert_true(fd >= 0);
    assert_int_equal(caller_select(fd, "program.*"), 1);
    assert_int_equal(status_now().sites_on, 0);
    close(fd);
    child_end(&child);
}

static bool answers(void) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect_to(getpid());
    bool answered = fd >= 0 && caller_send(fd, SPEX_CONTROL_PROFILE, 0, NULL) &&
                    caller_receive(fd, &reader) == 1 && reader.complete;
    if (fd >= 0)
        close(fd);
    spex_profile_reader_free(&reader);
    return answered;
}

/* Also with a client at the other end. */
TEST_WITH(a_program_may_close_all_descriptors, serving_setup, stop) {
    int fd = caller_connect();
    assert_int_equal(caller_select(fd, ""), 0);
    close(fd);
    for (int n = 0; n < 3; n++) {
        for (int d = 3; d < 4096; d++)
            syscall(SYS_close, d); /* which ThreadSanitizer does not take for its own affair */
        WAIT_UNTIL(answers());
    }
}

/* Files of the program's own in all the places of ours stay as they are. */
TEST_WITH(a_program_may_use_our_numbers, serving_setup, stop) {
    enum { ENTRIES = 4096 };
    static const char text[] = "the program's own";
    char path[128], back[sizeof(text)];
    struct stat own, now;
    int caller = caller_connect();
    assert_int_equal(caller_select(caller, ""), 0);
    snprintf(path, sizeof(path), "%s/own", serving_directory);
    int file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    assert_int_equal(write(file, text, sizeof(text)), sizeof(text));
    assert_int_equal(fstat(file, &own), 0);
    static bool taken[ENTRIES];
    for (int d = 3; d < ENTRIES; d++) {
        struct stat there;
        taken[d] = d != file && fstat(d, &there) == 0;
        if (taken[d])
            assert_int_equal(syscall(SYS_dup3, file, d, 0), d);
    }
    WAIT_UNTIL(answers());
    spex_stop();
    for (int d = 3; d < ENTRIES; d++)
        if (taken[d]) {
            assert_int_equal(fstat(d, &now), 0);
            assert_true(now.st_dev == own.st_dev && now.st_ino == own.st_ino);
            close(d);
        }
    assert_int_equal(pread(file, back, sizeof(back), 0), sizeof(back));
    assert_memory_equal(back, text, sizeof(text));
    assert_int_equal(lseek(file, 0, SEEK_CUR), sizeof(text));
    close(file);
    unlink(path);
}

static int listen_for_programs(char *path, size_t size) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/command", serving_directory);
    snprintf(path, size, "%s", address.sun_path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static void call_a_command(const char *control, const char *probes, int *listening, int *command) {
    char path[128], out[160];
    spex_stop();
    *listening = listen_for_programs(path, sizeof(path));
    snprintf(out, sizeof(out), "metrics:%s", path);
    setenv("SPEX_OUT", out, 1);
    setenv("SPEX_CONTROL", control, 1);
    int err = serving_start(probes);
    setenv("SPEX_CONTROL", serving_directory, 1);
    unlink(path);
    assert_int_equal(err, 0);
    *command = accept4(*listening, NULL, NULL, SOCK_CLOEXEC);
    assert_true(*command >= 0);
}

/* With a listening socket or without. */
static void probes_go_off_with_the_command(const char *control) {
    struct spex_profile_reader reader = {0};
    int listening, command;
    call_a_command(control, "program.*", &listening, &command);
    assert_int_equal(status_now().sites_on, 1);
    work(50);
    do
        assert_int_equal(caller_receive(command, &reader), 1);
    while (reader.profile.process.consumed < 50);
    /* Reports may come before the answer. */
    assert_true(caller_send(command, SPEX_CONTROL_SELECT, 0, "program.work@2"));
    do
        assert_int_equal(caller_receive(command, &reader), 1);
    while (reader.status != 1);
    close(command);
    WAIT_UNTIL(status_now().sites_on == 0);
    close(listening);
    spex_profile_reader_free(&reader);
}

TEST_WITH(a_command_that_goes_takes_the_probes_with_it, serving_setup, stop) {
    probes_go_off_with_the_command(serving_directory);
    assert_true(answers());
    probes_go_off_with_the_command("off");
}

TEST_WITH(a_command_that_was_called_gets_the_last_report, serving_setup, stop) {
    struct spex_profile_reader reader = {0};
    int listening, command;
    call_a_command("off", "program.*", &listening, &command);
    work(70);
    spex_stop();
    do
        assert_int_equal(caller_receive(command, &reader), 1);
    while (!reader.final);
    assert_int_equal(reader.profile.process.produced, 70);
    close(command);
    close(listening);
    spex_profile_reader_free(&reader);
}

/* A process may end soon, without a last report. Intervals of 1000 ms are reached by doubling; a
 * command that subscribes gets its own from the first one on. */
TEST_WITH(the_first_reports_to_a_command_come_soon, serving_setup, stop) {
    static const unsigned expected_ms[] = {10, 20, 40, 80, 160, 320, 640, 1000, 1000};
    static struct spex_connection connection;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    spex_call_open(&connection, spex_descriptor_of(pair[0]), 1000);
    for (size_t e = 0; e < COUNT_OF(expected_ms); e++) {
        uint64_t now = connection.due_ns;
        connection.reply.next = 0; /* the report before is sent */
        spex_report_begin(&connection, now, false);
        assert_true(connection.reply.next != 0);
        assert_int_equal(connection.due_ns - now, expected_ms[e] * 1000000ull);
    }
    spex_connection_close(&connection);
    close(pair[1]);
}

/* Until the next report, in nanoseconds. */
static uint64_t rest_after(uint64_t cost_ns) {
    struct spex_connection connection = {.reports = true, .profiling = true};
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    spex_report_cost(&connection, cost_ns);
    assert_int_equal(connection.rest_ms > 0, cost_ns > 0 && isfinite(spex_controller_reports()));
    return spex_grown(now, connection.due_ns);
}

/* What they cost is part of the budget, but somebody looks: none is later than after ten seconds. */
TEST_WITH(reports_are_as_rare_as_the_budget_pays_for, serving_setup, stop) {
    assert_int_equal(rest_after(10000000), 0);
    spex_stop();
    const struct spex_options options = {
        .size = sizeof(options), .probes = "program.*", .out = "/dev/null", .budget = "2%"};
    assert_int_equal(spex_start(&options), 0);
    assert_int_equal(rest_after(0), 0);
    assert_true(rest_after(10000000) > 50 * 10000000ull);
    assert_true(rest_after(UINT64_MAX / 2) >= 10000000000ull);
    assert_true(rest_after(UINT64_MAX / 2) < 20000000000ull);
}

/* Who renews a lease each second has reports all the same. */
TEST_WITH(other_answers_put_no_report_off, serving_setup, stop) {
    struct spex_connection connection = {.reports = true, .profiling = true};
    spex_stop();
    const struct spex_options options = {
        .size = sizeof(options), .probes = "program.*", .out = "/dev/null", .budget = "2%"};
    assert_int_equal(spex_start(&options), 0);
    spex_report_cost(&connection, 10000000);
    uint64_t due = connection.due_ns;
    uint32_t rest = connection.rest_ms;
    assert_true(due > 0 && rest > 0);
    spex_report_cost(&connection, 10000000);
    assert_true(connection.due_ns == due && connection.rest_ms == rest);
}

TEST_WITH(a_command_that_is_not_there_is_said, serving_setup, stop) {
    spex_stop();
    setenv("SPEX_OUT", "metrics:/nowhere/at/all", 1);
    messages_begin();
    int err = serving_start("program.*");
    const char *text = messages_end();
    assert_int_equal(err, 0);
    assert_non_null(strstr(text, "SPEX_OUT: cannot connect to /nowhere/at/all: No such file"));
    assert_int_equal(status_now().sites_on, 0);
    int fd = caller_connect();
    assert_int_equal(caller_select(fd, "program.work"), 1);
    close(fd);
}

static int work_and_exit(int from, int to) {
    char byte;
    if (serving_start("program.*") != 0 || write(to, "", 1) != 1 || read(from, &byte, 1) != 1)
        return 1;
    work(60);
    exit(0);
}

TEST_WITH(the_last_report_comes_at_an_exit, serving_setup, stop) {
    struct spex_profile_reader reader = {0};
    SKIP_WITHOUT_CHILDREN();
    spex_stop();
    struct child child = child_start(work_and_exit);
    child_await(&child);
    int fd = caller_connect_to(child.process);
    assert_true(fd >= 0 && caller_send(fd, SPEX_CONTROL_SUBSCRIBE, 60000, NULL));
    assert_int_equal(caller_receive(fd, &reader), 1);
    assert_int_equal(write(child.to, "", 1), 1);
    do
        assert_int_equal(caller_receive(fd, &reader), 1);
    while (!reader.final);
    assert_int_equal(reader.profile.process.produced, 60);
    assert_int_equal(reader.profile.process.consumed + reader.profile.process.lost, 60);
    close(fd);
    child_end(&child);
    assert_int_equal(serving_count(serving_directory), 0);
    spex_profile_reader_free(&reader);
}

int main(void) {
    return tests_run(serving_begin, serving_end);
}
