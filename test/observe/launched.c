/* SPDX-License-Identifier: MIT */
/* Programs that a command runs: how they begin and end, which signals reach them, and what they
 * report to the command's socket. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "observe/listener.h"
#include "observe/passed_signals.h"
#include "observe/process_place.h"
#include "scratch.h"

static sigset_t no_signals;

static int launch_with(struct spex_launched *program, const char *script,
                       const struct spex_launch_variable *variables, int inherited) {
    char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                          (char *)(uintptr_t)script, NULL};
    return spex_launch_program(program, argv, variables, inherited, &no_signals);
}

static const struct spex_launch_variable no_variables[] = {{NULL, NULL}};

static void launch(struct spex_launched *program, const char *script) {
    assert_int_equal(launch_with(program, script, no_variables, -1), 0);
}

static void await_end(struct spex_launched *program) {
    struct pollfd end = {.fd = program->pidfd, .events = POLLIN};
    assert_int_equal(poll(&end, 1, -1), 1);
    assert_true(spex_launched_ended(program));
    assert_true(spex_launched_ended(program)); /* and again */
    assert_int_equal(program->untold, 0);
    close(program->pidfd);
}

TEST(ends_of_programs) {
    struct spex_launched program;
    launch(&program, "exit 3");
    await_end(&program);
    assert_true(program.status == 3 && program.by_signal == 0);
    launch(&program, "kill -9 $$");
    await_end(&program);
    assert_true(program.status == 0 && program.by_signal == SIGKILL);
    char *const nowhere[] = {(char *)(uintptr_t) "/nowhere/program", NULL};
    assert_int_equal(spex_launch_program(&program, nowhere, no_variables, -1, &no_signals),
                     -ENOENT);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
}

/* What waitid fails with; 0: it does not. */
static int waitid_error;

int __real_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options);

int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    if (!waitid_error)
        return __real_waitid(type, id, info, options);
    errno = waitid_error;
    return -1;
}

/* An end that the system does not tell is seen all the same, and not before it comes. */
TEST(ends_that_are_not_told) {
    struct spex_launched program;
    int input[2];
    size_t open = open_descriptors();
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    char script[64];
    snprintf(script, sizeof(script), "read line <&%d; exit 3", input[0]);
    assert_int_equal(launch_with(&program, script, no_variables, input[0]), 0);
    static const int errors[] = {EINTR, EPERM, ENOSYS};
    for (size_t e = 0; e < COUNT_OF(errors); e++) {
        waitid_error = errors[e];
        assert_false(spex_launched_ended(&program));
        assert_false(spex_launched_stopped(&program));
    }
    close(input[1]);
    struct pollfd end = {.fd = program.pidfd, .events = POLLIN};
    assert_int_equal(poll(&end, 1, -1), 1);
    waitid_error = EINTR;
    assert_false(spex_launched_ended(&program));
    waitid_error = EPERM;
    assert_true(spex_launched_ended(&program));
    assert_true(spex_launched_ended(&program));
    assert_true(program.ended && program.untold == -EPERM);
    assert_true(program.status == 1 && program.by_signal == 0);
    waitid_error = 0;
    assert_int_equal(waitpid(program.process, NULL, 0), program.process);
    close(program.pidfd);
    close(input[0]);
    char *const nowhere[] = {(char *)(uintptr_t) "/nowhere/program", NULL};
    assert_int_equal(spex_launch_program(&program, nowhere, no_variables, -1, &no_signals),
                     -ENOENT);
    assert_int_equal(open_descriptors(), open);
}

TEST(what_a_program_is_given) {
    static const struct spex_launch_variable variables[] = {
        {"FIRST", "one"}, {"SECOND", "two words"}, {NULL, NULL}};
    struct spex_launched program;
    int pipes[2];
    char got[64] = "";
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    char script[128];
    snprintf(script, sizeof(script), "exec 2>/dev/null; echo \"$FIRST,$SECOND\" >&%d", pipes[1]);
    assert_int_equal(launch_with(&program, script, variables, pipes[1]), 0);
    await_end(&program);
    assert_int_equal(program.status, 0);
    assert_true(read(pipes[0], got, sizeof(got) - 1) > 0);
    assert_string_equal(got, "one,two words\n");
    /* Without being inherited it is closed. */
    assert_int_equal(launch_with(&program, script, variables, -1), 0);
    await_end(&program);
    assert_int_not_equal(program.status, 0);
    close(pipes[0]);
    close(pipes[1]);
}

TEST(a_program_that_is_stopped) {
    struct spex_launched program;
    siginfo_t info;
    launch(&program, "kill -STOP $$; exit 4");
    assert_int_equal(waitid(P_PID, (id_t)program.process, &info, WSTOPPED | WNOWAIT), 0);
    assert_true(spex_launched_stopped(&program));
    assert_true(spex_launched_stopped(&program));
    assert_false(spex_launched_ended(&program));
    kill(program.process, SIGCONT);
    await_end(&program);
    assert_int_equal(program.status, 4);
}

/* The status of a child that runs this. */
static int in_child(void (*run)(void), pid_t *process) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        run();
        _exit(99);
    }
    if (process) {
        *process = child;
        return 0;
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void die(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    spex_launched_die_of(SIGSEGV);
}

TEST(a_command_dies_as_its_program) {
    int status = in_child(die, NULL);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && !WCOREDUMP(status));
}

/* ---- signals ---- */

/* Runs a program until its end as a command does, and ends with its status. In a group of its own:
 * a group that is nobody's job is not stopped by SIGTSTP. */
static void run_and_pass_signals(void) {
    struct spex_passed_signals signals;
    struct spex_launched program;
    char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                          (char *)(uintptr_t) "trap 'exit 7' USR1; : > ready; "
                                              "while :; do sleep 0.01; done",
                          NULL};
    signal(SIGCHLD, SIG_IGN);
    setpgid(0, 0);
    if (spex_passed_signals_open(&signals) != 0 ||
        spex_launch_program(&program, argv, no_variables, -1, &signals.before) != 0)
        _exit(98);
    struct pollfd fds[] = {{.fd = signals.fd, .events = POLLIN},
                           {.fd = program.pidfd, .events = POLLIN}};
    while (!spex_launched_ended(&program)) {
        poll(fds, 2, -1);
        spex_passed_signals_pass(&signals, &program);
    }
    _exit(program.status + program.by_signal);
}

TEST(signals_reach_the_program) {
    static const struct { int number, status; } cases[] = {{SIGUSR1, 7}, {SIGTERM, SIGTERM}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        pid_t command;
        int status;
        unlink("ready");
        in_child(run_and_pass_signals, &command);
        while (access("ready", F_OK) != 0)
            poll(NULL, 0, 1);
        kill(command, SIGCHLD); /* is not passed */
        kill(command, cases[c].number);
        assert_int_equal(waitpid(command, &status, 0), command);
        assert_int_equal(WEXITSTATUS(status), cases[c].status);
    }
}

/* In a child: the program finds SIGCHLD as the command was given it, and the command learns how it
 * has ended. */
static void launch_where_children_are_ignored(void) {
    struct spex_passed_signals signals;
    struct spex_launched program;
    char *const argv[] = {(char *)(uintptr_t) "grep", (char *)(uintptr_t) "-q",
                          (char *)(uintptr_t) "^SigIgn:.*[13579bdf][0-9a-f]\\{4\\}$",
                          (char *)(uintptr_t) "/proc/self/status", NULL};
    signal(SIGCHLD, SIG_IGN);
    if (spex_passed_signals_open(&signals) != 0 ||
        spex_launch_program(&program, argv, no_variables, -1, &signals.before) != 0)
        _exit(98);
    while (!spex_launched_ended(&program))
        poll(&(struct pollfd){.fd = program.pidfd, .events = POLLIN}, 1, -1);
    _exit(program.untold ? 97 : program.status);
}

TEST(ignored_children_are_the_programs_matter) {
    int status = in_child(launch_where_children_are_ignored, NULL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A stop that is asked of the command stops its program, and then itself; both go on together. */
TEST(a_stop_stops_both) {
    pid_t command;
    int status;
    unlink("ready");
    in_child(run_and_pass_signals, &command);
    while (access("ready", F_OK) != 0)
        poll(NULL, 0, 1);
    kill(command, SIGTSTP);
    assert_int_equal(waitpid(command, &status, WUNTRACED), command);
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    kill(command, SIGCONT);
    kill(command, SIGUSR1);
    assert_int_equal(waitpid(command, &status, 0), command);
    assert_int_equal(WEXITSTATUS(status), 7);
}

/* In a child, which no test goes on in. */
static void expect(bool holds) {
    if (!holds)
        _exit(98);
}

/* Lets another process send this one a signal. */
static int signal_from_another(int number) {
    pid_t receiver = getpid(), sender = fork();
    if (sender == 0)
        _exit(kill(receiver, number) != 0);
    int status;
    expect(waitpid(sender, &status, 0) == sender);
    return status;
}

/* A program that counts the signals that reach it, and ends with their number at SIGTERM. */
static const char counting[] =
    "n=0; trap 'n=$((n+1)); : > counted' CONT USR1; trap 'exit $n' TERM; : > ready; "
    "while :; do sleep 0.01; done";

static void await_file(const char *name) {
    while (access(name, F_OK) != 0)
        poll(NULL, 0, 1);
    unlink(name);
}

/* What a process that passes signals has in its mask. */
static void expect_mask(const struct spex_passed_signals *signals, int kept) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    for (int number = 1; number <= SIGSYS; number++) {
        bool fault = number == SIGKILL || number == SIGSTOP;
        for (size_t f = 0; f < COUNT_OF(faults); f++)
            fault = fault || faults[f] == number;
        expect(sigismember(&now, number) == !fault);
        if (number != SIGKILL && number != SIGSTOP)
            expect(sigismember(&signals->received, number) == (!fault && number != kept));
        expect(sigismember(&signals->before, number) == (number == SIGHUP));
    }
}

static bool is_pending(int number) {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, number);
}

/* In a child, which has one thread. The program gets what other processes send, and nothing of what
 * this one sends to itself; SIGCONT only while it is stopped. */
static void pass_some_signals(void) {
    struct spex_passed_signals signals;
    struct spex_launched program;
    char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                          (char *)(uintptr_t)counting, NULL};
    siginfo_t info;
    sigset_t hangup;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    sigprocmask(SIG_SETMASK, &hangup, NULL);
    signal(SIGCHLD, SIG_IGN);
    unlink("ready");
    unlink("counted");
    expect(spex_passed_signals_open(&signals) == 0);
    expect(signal(SIGCHLD, SIG_DFL) == SIG_DFL);
    expect_mask(&signals, 0);
    spex_passed_signals_keep(&signals, SIGUSR2);
    expect_mask(&signals, SIGUSR2);
    sigemptyset(&signals.before);
    expect(spex_launch_program(&program, argv, no_variables, -1, &signals.before) == 0);
    await_file("ready");
    raise(SIGUSR1); /* of this process */
    raise(SIGUSR2);
    raise(SIGCONT);
    spex_passed_signals_pass(&signals, &program);
    expect(!is_pending(SIGUSR1));
    expect(is_pending(SIGUSR2));
    /* Of another one, while the program runs: it has the SIGCONT of its group already. */
    expect(signal_from_another(SIGCONT) == 0);
    spex_passed_signals_pass(&signals, &program);
    expect(signal_from_another(SIGUSR1) == 0);
    spex_passed_signals_pass(&signals, &program);
    await_file("counted");
    kill(program.process, SIGSTOP);
    expect(waitid(P_PID, (id_t)program.process, &info, WSTOPPED | WNOWAIT) == 0);
    expect(signal_from_another(SIGCONT) == 0);
    spex_passed_signals_pass(&signals, &program);
    await_file("counted");
    expect(signal_from_another(SIGTERM) == 0);
    spex_passed_signals_pass(&signals, &program);
    while (!spex_launched_ended(&program))
        poll(NULL, 0, 1);
    close(program.pidfd);
    expect(program.by_signal == 0);
    _exit(program.status);
}

/* Of USR1 and CONT one each reach the program. */
TEST(signals_are_passed_where_they_do_not_come_by_themselves) {
    int status = in_child(pass_some_signals, NULL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
}

/* ---- reports ---- */

enum { WORK = 96, EXECUTIONS = 25 };
SPEX_PROBE_NAME(WORK, "launched.work");

static char output[512];

static void report_and_end(void) {
    setenv("SPEX_OUT", output, 1);
    setenv("SPEX_PROBES", "launched.work", 1);
    if (spex_start(NULL) != 0)
        _exit(97);
    for (int e = 0; e < EXECUTIONS; e++) {
        CNT_PROBE_BEGIN(WORK, 1);
        CNT_PROBE_END(WORK);
    }
    spex_stop();
    _exit(0);
}

static int accept_one(struct spex_listener *listener, struct spex_caller **caller) {
    struct pollfd fd = {.fd = listener->listening.socket.number, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, -1), 1);
    *caller = spex_listener_accept(listener);
    assert_non_null(*caller);
    return 0;
}

static void take_until_closed(struct spex_caller *caller) {
    int taken;
    do {
        struct pollfd fd = {.fd = caller->socket, .events = POLLIN};
        assert_int_equal(poll(&fd, 1, -1), 1);
        taken = spex_caller_take(caller);
    } while (taken >= 0);
    assert_int_equal(caller->socket, -1);
    assert_int_equal(spex_caller_take(caller), -1);
}

/* The last report of a program, which has all of its executions. */
TEST(a_program_reports) {
    struct spex_listener listener;
    struct spex_error why = {""};
    struct spex_caller *caller, *other = NULL;
    pid_t process;
    setenv("SPEX_CONTROL", scratch_path, 1);
    chmod(scratch_path, 0700);
    assert_int_equal(spex_listener_open(&listener, &why), 0);
    spex_listener_output(&listener, "metrics", output, sizeof(output));
    assert_memory_equal(output, "metrics:", 8);
    assert_memory_equal(output + 8, scratch_path, strlen(scratch_path));
    assert_null(spex_listener_accept(&listener));
    for (int round = 0; round < 2; round++) {
        in_child(report_and_end, &process);
        accept_one(&listener, &caller);
        assert_int_equal(caller->process, process);
        assert_true(spex_caller_silent(caller));
        assert_false(caller->beside);
        take_until_closed(caller);
        assert_int_equal(waitpid(process, NULL, 0), process);
        assert_false(spex_caller_runs(caller));
        assert_false(spex_caller_silent(caller));
        assert_string_equal(caller->error.text, "");
        const struct spex_profile *profile = &caller->reader.profile;
        assert_int_equal(profile->process.process_id, process);
        assert_int_equal(profile->row_count, 1);
        assert_true(profile->rows[0].probe.count == EXECUTIONS);
        assert_true(caller->called_ns <= caller->heard_ns && caller->heard_ns <= caller->closed_ns);
        if (round == 0)
            other = caller;
    }
    assert_int_equal(listener.count, 2);
    assert_false(spex_caller_same(other, caller));
    assert_true(spex_caller_same(caller, caller));
    assert_int_equal(listener.refused, 0);
    spex_listener_close(&listener);
    assert_int_equal(listener.count, 0);
}

/* ---- where a process is ---- */

/* In a namespace in which this user is the sixth. */
static void be_somebody_else(void) {
    char line[64];
    snprintf(line, sizeof(line), "6 %u 1", (unsigned)geteuid());
    if (unshare(CLONE_NEWUSER) != 0)
        _exit(77);
    FILE *map = fopen("/proc/self/uid_map", "we");
    if (!map || fputs(line, map) < 0 || fclose(map) != 0)
        _exit(77);
    scratch_write("mapped", "", 0);
    for (;;)
        pause();
}

TEST(users_are_numbered_as_in_the_namespace) {
    struct spex_process_place place;
    pid_t process;
    int status;
    unlink("mapped");
    assert_int_equal(spex_process_place(getpid(), &place), 0);
    for (unsigned u = 0; u < SPEX_PLACE_OWN_USERS + 1; u++)
        assert_int_equal(place.users[u], geteuid());
    assert_int_equal(place.users[SPEX_PLACE_USERS - 1], 0);
    assert_string_equal(place.command, "observe-launche");
    spex_process_place_free(&place);
    in_child(be_somebody_else, &process);
    while (access("mapped", F_OK) != 0) {
        if (waitpid(process, &status, WNOHANG) == process)
            skip();
        poll(NULL, 0, 1);
    }
    assert_int_equal(spex_process_place(process, &place), 0);
    assert_int_equal(place.users[0], geteuid());
    assert_int_equal(place.users[SPEX_PLACE_OWN_USERS], 6);
    spex_process_place_free(&place);
    kill(process, SIGKILL);
    waitpid(process, &status, 0);
    assert_int_equal(spex_process_place(process, &place), -ESRCH);
}

/* A process with a user of each kind. */
static void be_three_users(void) {
    if (setresuid(1001, 1002, 1003) != 0)
        _exit(77);
    for (;;)
        pause();
}

TEST(all_users_of_a_process_are_told) {
    static const uid_t expected[SPEX_PLACE_OWN_USERS] = {1002, 1001, 1003, 1002};
    struct spex_process_place place;
    pid_t process;
    if (geteuid() != 0)
        skip();
    in_child(be_three_users, &process);
    do {
        assert_int_equal(spex_process_place(process, &place), 0);
        spex_process_place_free(&place);
    } while (place.users[0] == 0 && waitpid(process, NULL, WNOHANG) == 0);
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    for (int u = 0; u < SPEX_PLACE_OWN_USERS; u++)
        assert_int_equal(place.users[u], expected[u]);
}

int main(void) {
    sigemptyset(&no_signals);
    return tests_run(scratch_enter, scratch_leave);
}
