/* SPDX-License-Identifier: MIT */
/* The observed program's descriptors, signals and output, and that nothing of it survives its
 * end. */
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "explore/trial/leftovers.h"
#include "explore/trial/program.h"
#define LAUNCH_SOCKET "/another/socket"
#include "program_launch.h"
#include "scratch.h"

/* The clock that teardown waits by, put forward once the program has said these words. */
static const struct spex_program *overdue;
static const char *overdue_words;

/* Each look at the clock finds it so much later. */
static time_t hurry;

uint64_t __real_spex_clock_ns(clockid_t clock);
uint64_t __wrap_spex_clock_ns(clockid_t clock);

uint64_t __wrap_spex_clock_ns(clockid_t clock) {
    uint64_t seconds = 0;
    if (overdue && has_said(overdue, overdue_words))
        seconds += 10;
    if (hurry)
        seconds += (uint64_t)(hurry += 10);
    return __real_spex_clock_ns(clock) + seconds * 1000000000;
}

/* Whether signals are refused, as by programs of another user. */
static bool refused;

int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);

int __wrap_kill(pid_t pid, int number) {
    if (!refused)
        return __real_kill(pid, number);
    errno = EPERM;
    return -1;
}

/* Descriptors that we have from whoever started us, and that any child of ours has. */
static int inherited(void) {
    int count = 0;
    for (int fd = 3; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        count += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    return count;
}

TEST(descriptors) {
    char expected[64];
    expect_description("readlink /proc/self/fd/0; exit 1", "exited with status 1: /dev/null");
    expect_description("read line; exit $?", "exited with status 1");
    /* 0, 1 and 2, and the one with which ls reads the directory. */
    snprintf(expected, sizeof(expected), "exited with status 0: %d", 4 + inherited());
    expect_description("ls /proc/self/fd | wc -l | tr -d ' '", expected);
}

/* Who has no standard streams starts programs that have them. */
TEST(descriptors_of_nobody) {
    int kept[3];
    size_t descriptors = open_descriptors();
    for (unsigned without = 1; without < 8; without++) {
        struct spex_program program;
        char text[256];
        for (int fd = 0; fd < 3; fd++)
            assert_true((kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10)) >= 10);
        for (int fd = 0; fd < 3; fd++)
            if (without >> fd & 1)
                close(fd);
        launch(&program, "readlink /proc/self/fd/0; echo out; echo err >&2; cat; exit 1");
        wait_for_end(&program);
        spex_program_describe(&program, text, sizeof(text));
        bool all = has_said(&program, "/dev/null\nout\nerr\n");
        end(&program);
        for (int fd = 0; fd < 3; fd++) {
            dup2(kept[fd], fd);
            close(kept[fd]);
        }
        assert_string_equal(text, "exited with status 1: err");
        assert_true(all);
    }
    assert_int_equal(open_descriptors(), descriptors);
}

TEST(signals) {
    sigset_t all, old;
    sigfillset(&all);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &all, &old);
    expect_description("grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -s '\\t\\n' '  '",
                       "exited with status 0: SigBlk: 0000000000000000 SigIgn: 0000000000000000");
    sigprocmask(SIG_SETMASK, &old, NULL);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
}

TEST(process_group) {
    struct spex_program program;
    launch(&program, "echo ready; exec sleep 1000");
    wait_for(&program, "ready\n");
    assert_int_equal(getpgid(program.pid), program.pid);
    assert_int_not_equal(getpgrp(), program.pid);
    end(&program);
}

/* A program that writes without end does not hold us, and its last line is still there. */
TEST(flood) {
    struct spex_program program;
    launch(&program, "yes flood & wait");
    wait_for(&program, "flood\n");
    for (int i = 0; i < 200; i++)
        spex_program_output(&program); /* comes back each time */
    assert_int_equal(program.tail_length, SPEX_OUTPUT_TAIL_BYTES);
    assert_false(spex_program_ended(&program));
    int output = dup(program.output);
    pid_t pid = program.pid;
    end(&program);
    expect_all_gone(output, pid);
    expect_description("i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo $i flood; done;"
                       "echo the end; exit 4",
                       "exited with status 4: the end");
}

/* A line longer than what is kept: its end. */
TEST(long_line) {
    struct spex_program program;
    char text[SPEX_OUTPUT_TAIL_BYTES * 2];
    launch(&program, "printf '%5000s' tail | tr ' ' x; exit 1");
    wait_for_end(&program);
    spex_program_describe(&program, text, sizeof(text));
    assert_int_equal(strlen(text), strlen("exited with status 1: ") + SPEX_OUTPUT_TAIL_BYTES);
    assert_string_equal(text + strlen(text) - 8, "xxxxtail");
    end(&program);
}

TEST(ends_when_asked) {
    struct spex_program program;
    launch(&program, "trap 'echo bye > ended; exit 0' TERM; echo ready; while :; do read x < fifo; "
                     "done");
    wait_for(&program, "ready\n");
    end(&program);
    assert_int_equal(access("ended", F_OK), 0); /* it had the time to */
    assert_int_equal(program.pidfd, -1);
    assert_int_equal(program.output, -1);
    end(&program); /* does nothing */
}

/* On its way to the end it fills the pipe: somebody has to read on. */
TEST(talks_while_ending) {
    struct spex_program program;
    launch(&program, "trap 'head -c 300000 /dev/zero; echo bye > talked; exit 0' TERM; echo ready;"
                     "while :; do read x < fifo; done");
    wait_for(&program, "ready\n");
    end(&program);
    assert_int_equal(access("talked", F_OK), 0);
}

TEST(ignores_asking) {
    struct spex_program program;
    launch(&program, "trap 'echo never' TERM; echo ready; while :; do read x < fifo; done");
    wait_for(&program, "ready\n");
    int output = dup(program.output);
    pid_t pid = program.pid;
    overdue = &program;
    overdue_words = "never\n";
    end(&program);
    overdue = NULL;
    assert_true(has_said(&program, "never\n"));
    expect_all_gone(output, pid);
}

TEST(cannot_be_ended) {
    struct spex_program program;
    struct spex_error why = {""};
    char expected[64];
    size_t descriptors = open_descriptors();
    launch(&program, "echo ready; exec sleep 1000");
    wait_for(&program, "ready\n");
    pid_t pid = program.pid;
    refused = true;
    hurry = 1;
    int err = spex_program_teardown(&program, &why);
    refused = false;
    hurry = 0;
    assert_int_equal(err, -EPERM);
    snprintf(expected, sizeof(expected), "cannot end the program, process %d", (int)pid);
    assert_string_equal(why.text, expected);
    assert_int_equal(program.pidfd, -1);
    assert_int_equal(program.output, -1);
    assert_null(program.mark);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Whether it ended by itself or was ended, what it left in the background goes too. */
TEST(background) {
    static const char *const scripts[] = {
        "trap '' TERM; sleep 1000 & (sleep 1000 & exec sleep 1000) & echo ready; trap - TERM; wait",
        "trap '' TERM; sleep 1000 & echo ready; exit 0",
    };
    for (size_t s = 0; s < COUNT_OF(scripts); s++) {
        struct spex_program program;
        launch(&program, scripts[s]);
        wait_for(&program, "ready\n");
        if (s == 1)
            while (!spex_program_ended(&program))
                poll(&(struct pollfd){.fd = program.pidfd, .events = POLLIN}, 1, -1);
        int output = dup(program.output);
        pid_t pid = program.pid;
        end(&program);
        expect_all_gone(output, pid);
    }
}

/* Starts a program with this variable alone, and waits until it has it. */
static pid_t start_with(const char *variable, const char *path, const char *argument) {
    int pipe_of[2];
    char nothing;
    assert_int_equal(pipe2(pipe_of, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        execle(path, path, argument, (char *)NULL, (char *[]){(char *)(uintptr_t)variable, NULL});
        _exit(1);
    }
    close(pipe_of[1]);
    assert_int_equal(read(pipe_of[0], &nothing, 1), 0);
    close(pipe_of[0]);
    return pid;
}

static pid_t sleep_with(const char *variable) {
    return start_with(variable, "/bin/sleep", "1000");
}

/* Children are reaped; who has another value, or a longer one, is left. */
TEST(what_has_the_variable_is_killed) {
    char variable[64], longer[96];
    snprintf(variable, sizeof(variable), "SPEX_TEST_LEFT=%d", (int)getpid());
    snprintf(longer, sizeof(longer), "%s1", variable);
    pid_t one = sleep_with(variable), another = sleep_with(longer), third = sleep_with(variable);
    spex_leftovers_kill_anywhere(variable);
    assert_int_equal(waitpid(one, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(waitpid(third, NULL, 0), -1);
    assert_int_equal(waitpid(another, NULL, WNOHANG), 0);
    spex_leftovers_kill(longer);
    assert_int_equal(waitpid(another, NULL, 0), -1);
}

#define EXECUTES_ITSELF "executes itself"

/* While it executes a program, a process's environment reads as nothing. */
TEST(who_executes_programs_is_killed) {
    char variable[64];
    snprintf(variable, sizeof(variable), "SPEX_TEST_EXECUTES=%d", (int)getpid());
    for (int round = 0; round < 100; round++) {
        pid_t pid = start_with(variable, "/proc/self/exe", EXECUTES_ITSELF);
        spex_leftovers_kill_anywhere(variable);
        if (waitpid(pid, NULL, WNOHANG) != 0)
            continue;
        kill(pid, SIGKILL);
        fail_msg("round %d: it lives", round);
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], EXECUTES_ITSELF) == 0)
        return execv("/proc/self/exe", argv);
    return tests_run(setup, scratch_leave);
}
