/* SPDX-License-Identifier: MIT */
/* Starts a program by fork and exec. A pipe that exec closes carries the error of a failed exec
 * back: base/exec_status.h. */
#define _GNU_SOURCE
#include "observe/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exec_status.h"
#include "text/waits.h"

/* This process was given SIGCHLD ignored. */
static bool children_ignored;

void spex_launch_take_children(void) {
    if (signal(SIGCHLD, SIG_DFL) == SIG_IGN)
        children_ignored = true;
}

/* Runs in the child. setenv allocates, which a child of a program with several threads must
 * not; this process has one thread. */
_Noreturn static void child_run(char *const *argv, const struct spex_launch_variable *variables,
                                int inherited, const sigset_t *mask, bool traced, int status) {
    int err = inherited >= 0 && fcntl(inherited, F_SETFD, 0) != 0 ? errno : 0;
    for (; variables->name && !err; variables++)
        if (setenv(variables->name, variables->value, 1) != 0)
            err = errno;
    if (!err) {
        if (children_ignored)
            signal(SIGCHLD, SIG_IGN);
        sigprocmask(SIG_SETMASK, mask, NULL);
        if (!traced || ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
            execvp(argv[0], argv);
        err = errno;
    }
    spex_exec_failed(status, err);
}

/* A program without a pidfd could not be waited for; it is killed. */
static int open_pidfd(struct spex_launched *program) {
    program->pidfd = pidfd_open(program->process, 0);
    if (program->pidfd >= 0)
        return 0;
    int err = -errno;
    kill(program->process, SIGKILL);
    return err;
}

/* The pipe is closed by a successful exec, on which spex_exec_status returns 0. waitpid removes
 * a child whose exec has failed. */
static int launch(struct spex_launched *program, char *const *argv,
                  const struct spex_launch_variable *variables, int inherited, const sigset_t *mask,
                  bool traced) {
    int status[2];
    *program = (struct spex_launched){.process = -1, .pidfd = -1};
    if (pipe2(status, O_CLOEXEC) != 0)
        return -errno;
    program->process = fork();
    int err = program->process < 0 ? -errno : 0;
    if (program->process == 0)
        child_run(argv, variables, inherited, mask, traced, status[1]);
    close(status[1]);
    if (!err) {
        err = spex_exec_status(status[0]);
        err = err ? err : open_pidfd(program);
        if (err)
            waitpid(program->process, NULL, 0);
    }
    close(status[0]);
    return err;
}

int spex_launch_program(struct spex_launched *program, char *const *argv,
                        const struct spex_launch_variable *variables, int inherited,
                        const sigset_t *mask) {
    return launch(program, argv, variables, inherited, mask, false);
}

int spex_launch_traced(struct spex_launched *program, char *const *argv, const sigset_t *mask) {
    const struct spex_launch_variable none = {.name = NULL};
    return launch(program, argv, &none, -1, mask, true);
}

/* Whether the program has ended though the system does not tell how, as in a sandbox without this
 * call: the pidfd is readable. */
static bool ended_untold(struct spex_launched *program) {
    struct pollfd end = {.fd = program->pidfd, .events = POLLIN};
    int err = -errno;
    if (err == -EINTR || spex_wait_ready(&end, 1, 0) <= 0)
        return false;
    program->untold = err;
    program->status = 1;
    return true;
}

/* Without WNOWAIT: the first call that finds the end also removes the zombie. */
bool spex_launched_ended(struct spex_launched *program) {
    siginfo_t info = {.si_pid = 0};
    if (program->ended)
        return true;
    if (waitid(P_PID, (id_t)program->process, &info, WEXITED | WNOHANG) != 0) {
        program->ended = ended_untold(program);
    } else if (info.si_pid) {
        program->ended = true;
        program->status = info.si_code == CLD_EXITED ? info.si_status : 0;
        program->by_signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
    }
    return program->ended;
}

/* WNOWAIT keeps the state for a later call. */
bool spex_launched_stopped(const struct spex_launched *program) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)program->process, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid;
}

/* Without core files: the program has written its own. The signal is blocked here, and ends the
 * process when it is unblocked. */
void spex_launched_die_of(int signal_number) {
    const struct rlimit none = {0, 0};
    sigset_t mask;
    setrlimit(RLIMIT_CORE, &none);
    /* The kernel ignores RLIMIT_CORE where core_pattern is a pipe. */
    prctl(PR_SET_DUMPABLE, 0);
    signal(signal_number, SIG_DFL);
    sigemptyset(&mask);
    sigaddset(&mask, signal_number);
    kill(getpid(), signal_number);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
}
