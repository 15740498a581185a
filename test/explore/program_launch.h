/* SPDX-License-Identifier: MIT */
/* Programs played by the shell. */
#ifndef SPEX_TEST_PROGRAM_LAUNCH_H
#define SPEX_TEST_PROGRAM_LAUNCH_H

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>

#include "explore/trial/program.h"
#include "scratch.h"

static inline bool has_said(const struct spex_program *program, const char *words) {
    return memmem(program->tail, program->tail_length, words, strlen(words)) != NULL;
}

/* A launch marks its processes with the socket's address, and its end kills every process of the
 * machine with that mark. So each test program has an address of its own. */
#ifndef LAUNCH_SOCKET
#define LAUNCH_SOCKET "/a/socket"
#endif

/* `what` says all but the script. */
static inline void launch_as(struct spex_program *program, const char *script,
                             struct spex_launch what) {
    char *argv[] = {(char *)(uintptr_t) "sh",         (char *)(uintptr_t) "-c",
                    (char *)(uintptr_t)script,        (char *)(uintptr_t) "program",
                    (char *)(uintptr_t) "two  words", NULL};
    what.argv = argv;
    struct spex_error why = {""};
    if (spex_program_launch(program, &what, &why))
        fail_msg("%s", why.text);
}

static const struct spex_launch usual = {
    .config = "a config", .probes = "q:lat,*", .socket = LAUNCH_SOCKET, .sweep = true};

static inline void launch(struct spex_program *program, const char *script) {
    launch_as(program, script, usual);
}

static inline void end(struct spex_program *program) {
    struct spex_error why = {""};
    if (spex_program_teardown(program, &why))
        fail_msg("%s", why.text);
}

static inline void wait_for(struct spex_program *program, const char *words) {
    while (!has_said(program, words)) {
        struct pollfd output = {.fd = program->output, .events = POLLIN};
        assert_true(program->output >= 0);
        assert_true(poll(&output, 1, -1) > 0);
        spex_program_output(program);
    }
}

static inline void wait_for_end(struct spex_program *program) {
    struct pollfd fds[2] = {{.fd = program->pidfd, .events = POLLIN}, {.events = POLLIN}};
    while (!spex_program_ended(program)) {
        fds[1].fd = program->output;
        poll(fds, 2, -1);
        spex_program_output(program);
    }
    for (int reads = 0; reads < 100; reads++) /* what is still in the pipe */
        spex_program_output(program);
}

/* Until the end of file: nobody of the program's group has its output any more. */
static inline void expect_all_gone(int output, pid_t pid) {
    char rest[4096];
    struct pollfd end = {.fd = output, .events = POLLIN};
    ssize_t got;
    do {
        assert_true(poll(&end, 1, -1) > 0);
        got = read(output, rest, sizeof(rest));
    } while (got > 0);
    assert_int_equal(got, 0);
    close(output);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* no zombie either */
    assert_int_equal(errno, ECHILD);
}

static inline void expect_description_as(const char *script, const char *expected,
                                         struct spex_launch what) {
    struct spex_program program;
    char text[256];
    launch_as(&program, script, what);
    wait_for_end(&program);
    spex_program_describe(&program, text, sizeof(text));
    assert_string_equal(text, expected);
    end(&program);
}

static inline void expect_description(const char *script, const char *expected) {
    expect_description_as(script, expected, usual);
}

static inline int setup(void **state) {
    int err = scratch_enter(state);
    alarm(240); /* the tests wait without limits of their own */
    return err ? err : mkfifo("fifo", 0600);
}

#endif
