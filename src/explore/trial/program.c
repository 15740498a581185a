/* SPDX-License-Identifier: MIT */
/* Launches programs by vfork and exec and ends them. A pidfd tells of the end; the process is
 * reaped only in teardown, so that its number, which is the process group's, is not used again
 * before. Each program is used by one thread, the one that runs its trial; several threads may
 * launch programs at the same time. */
#define _GNU_SOURCE
#include "explore/trial/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/exec_status.h"
#include "explore/trial/leftovers.h"
#include "text/waits.h"

/* Time that a program has to end after SIGTERM, and again after SIGKILL. */
#define TEARDOWN_SECONDS 5

/* Variables that spex sets for the program. Others of spex, such as SPEX_RING_RECORDS, are the
 * user's. */
static const char *const own_variables[] = {"SPEX_CONFIG", "SPEX_CONFIG_FILE", "SPEX_PROBES",
                                            "SPEX_OUT",    "SPEX_OUT_SOCKET",  NULL};
enum { OWN_VARIABLES = sizeof(own_variables) / sizeof(own_variables[0]) - 1 };

/* Returns whether "NAME=value" is of this name. */
static bool is_name_of(const char *name, size_t length, const char *variable) {
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

/* Returns whether a variable of this process is not passed on, because the program gets its own or
 * none. */
static bool is_replaced(const struct spex_launch *launch, const char *variable) {
    for (size_t i = 0; own_variables[i]; i++)
        if (is_name_of(own_variables[i], strlen(own_variables[i]), variable))
            return true;
    for (size_t i = 0; launch->variables && launch->variables[i]; i++)
        if (is_name_of(launch->variables[i], strcspn(launch->variables[i], "="), variable))
            return true;
    return false;
}

/* Appends a variable, unless there is no value. False: out of memory. */
static bool environment_add(char **environment, size_t *made, const char *name, const char *value) {
    if (value && asprintf(&environment[*made], "%s%s", name, value) < 0)
        return false;
    *made += value != NULL;
    return true;
}

/* As environment_add, for a descriptor that the program inherits. */
static bool environment_add_inherited(char **environment, size_t *made, const char *name,
                                      const struct spex_descriptor *inherited) {
    char text[SPEX_DESCRIPTOR_TEXT_BYTES];
    if (!inherited || inherited->number < 0)
        return true;
    spex_descriptor_text(inherited, text);
    return environment_add(environment, made, name, text);
}

/* Appends the variables that spex sets; with a socket, SPEX_OUT is the first. False: out of
 * memory. */
static bool environment_add_own(const struct spex_launch *launch, char **environment,
                                size_t *made) {
    return environment_add(environment, made, "SPEX_OUT=unix:", launch->socket) &&
           environment_add(environment, made, "SPEX_PROBES=", launch->probes) &&
           environment_add(environment, made, "SPEX_CONFIG=", launch->config) &&
           environment_add_inherited(environment, made, "SPEX_OUT_SOCKET=", launch->handover) &&
           environment_add_inherited(environment, made, "SPEX_CONFIG_FILE=", launch->config_file);
}

static void environment_free(char **environment, size_t made) {
    for (size_t i = 0; environment && i < made; i++)
        free(environment[i]);
    free(environment);
}

/* The program's environment. Only its first *made strings are to be freed. NULL when out of
 * memory. */
static char **environment_make(const struct spex_launch *launch, size_t *made) {
    size_t count = 0, more = 0;
    while (environ[count])
        count++;
    while (launch->variables && launch->variables[more])
        more++;
    char **environment = calloc(count + more + OWN_VARIABLES + 1, sizeof(*environment));
    *made = 0;
    if (!environment)
        return NULL;
    if (!environment_add_own(launch, environment, made)) {
        environment_free(environment, *made);
        return NULL;
    }
    size_t to = *made;
    for (size_t from = 0; from < more; from++)
        if (strchr(launch->variables[from], '='))
            environment[to++] = launch->variables[from];
    for (size_t from = 0; from < count; from++)
        if (!is_replaced(launch, environ[from]))
            environment[to++] = environ[from];
    environment[to] = NULL;
    return environment;
}

/* Runs in the child. Children of the program inherit the CPUs. NULL: no limit. */
static int limit_cpus(const cpu_set_t *cpus) {
    return cpus ? sched_setaffinity(0, sizeof(*cpus), cpus) : 0;
}

/* Runs in the child. Another program that is launched at the same time does not inherit it. */
static bool inherit(const struct spex_descriptor *descriptor) {
    return !descriptor || descriptor->number < 0 || fcntl(descriptor->number, F_SETFD, 0) == 0;
}

/* Runs in the child. Opens the configuration on the descriptor where the program expects it,
 * without FD_CLOEXEC. If *status is that descriptor, it moves to another one. False after an
 * error. */
static bool open_configuration(const struct spex_launch *launch, int *status) {
    if (!launch->descriptor)
        return true;
    if (*status == launch->descriptor &&
        (*status = fcntl(*status, F_DUPFD_CLOEXEC, launch->descriptor + 1)) < 0)
        return false;
    int fd = open(launch->config, O_RDONLY | O_CLOEXEC);
    if (fd == launch->descriptor)
        return fcntl(fd, F_SETFD, 0) == 0;
    return fd >= 0 && dup2(fd, launch->descriptor) >= 0;
}

/* Runs in the child. Where this process has closed a standard stream, a descriptor may have its
 * number, which the program's stream gets. */
static int above_streams(int fd) {
    return fd >= 0 && fd <= STDERR_FILENO ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : fd;
}

/* One end of each pipe between this process and the program; -1: there is none. */
struct ends {
    int output, errors, status;
};

/* Runs in the child of vfork, which shares the parent's memory: only async-signal-safe calls, and
 * no changes of the parent's data. The checks of getppid() and PR_SET_PDEATHSIG end the child if
 * the parent was killed before. Does not return. */
static void child_run(const struct spex_launch *launch, char **environment, const struct ends *ends,
                      pid_t parent) {
    sigset_t none;
    sigemptyset(&none);
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int output = above_streams(ends->output);
    int errors = above_streams(ends->errors);
    int status = above_streams(ends->status);
    int nothing = above_streams(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (getppid() == parent && nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(output, 1) >= 0 &&
        dup2(errors < 0 ? output : errors, 2) >= 0 && limit_cpus(launch->cpus) == 0 &&
        inherit(launch->handover) && inherit(launch->config_file) &&
        open_configuration(launch, &status))
        execvpe(launch->argv[0], launch->argv, environment);
    spex_exec_failed(status, errno);
}

static void ends_close(const struct ends *ends) {
    const int all[] = {ends->output, ends->errors, ends->status};
    for (size_t e = 0; e < sizeof(all) / sizeof(all[0]); e++)
        if (all[e] >= 0)
            close(all[e]);
}

/* Only the reading end is non-blocking: the program must not lose output when the pipe is full. */
static int output_pipe(int *here, int *there) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    *here = ends[0];
    *there = ends[1];
    return fcntl(ends[1], F_SETFL, 0) < 0 ? -errno : 0;
}

/* Makes the pipes for the program's output, for its errors where somebody is shown the output, and
 * for what exec says. */
static int pipes_make(bool apart, struct ends *here, struct ends *there) {
    int status[2];
    *here = *there = (struct ends){-1, -1, -1};
    int err = output_pipe(&here->output, &there->output);
    if (!err && apart)
        err = output_pipe(&here->errors, &there->errors);
    if (!err && pipe2(status, O_CLOEXEC) < 0)
        err = -errno;
    if (!err) {
        here->status = status[0];
        there->status = status[1];
    }
    return err;
}

/* Starts the program by vfork, which copies no page tables; this thread waits until the program
 * runs. All signals are blocked meanwhile, since a handler of this process must not run in the
 * child. */
static int vfork_program(struct spex_program *program, const struct spex_launch *launch,
                         char **environment, const struct ends *child) {
    sigset_t all, before;
    pid_t parent = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)
    if (pid == 0)
        child_run(launch, environment, child, parent); // NOLINT(clang-analyzer-unix.Vfork)
    int err = pid < 0 ? -errno : 0;
    program->pid = pid;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

/* Starts the program with pipes for its output and one that tells whether exec failed, which closes
 * without a byte when it succeeded. */
static int start_program(struct spex_program *program, const struct spex_launch *launch,
                         char **environment) {
    struct ends here, there;
    int err = pipes_make(launch->take, &here, &there);
    program->begin_ns = spex_clock_ns(CLOCK_MONOTONIC);
    err = err ? err : vfork_program(program, launch, environment, &there);
    ends_close(&there);
    if (!err) {
        /* The child calls setpgid, too, since either of the two may come first. */
        setpgid(program->pid, program->pid);
        err = spex_exec_status(here.status);
        if (err)
            waitpid(program->pid, NULL, 0);
    }
    if (!err) {
        program->output = here.output;
        program->errors = here.errors;
        here.output = here.errors = -1;
    }
    ends_close(&here);
    return err;
}

static void close_output(struct spex_program *program) {
    if (program->output >= 0)
        close(program->output);
    if (spex_program_errors(program) >= 0)
        close(program->errors);
    program->output = program->errors = -1;
}

/* Opens the pidfd. Without one the program could not be watched, so it is killed. */
static int open_pidfd(struct spex_program *program) {
    program->pidfd = pidfd_open(program->pid, 0);
    if (program->pidfd >= 0)
        return 0;
    int err = -errno;
    kill(-program->pid, SIGKILL);
    waitpid(program->pid, NULL, 0);
    close_output(program);
    return err;
}

int spex_program_launch(struct spex_program *program, const struct spex_launch *launch,
                        struct spex_error *error) {
    size_t made;
    *program = (struct spex_program){.pid = -1,
                                     .pidfd = -1,
                                     .output = -1,
                                     .errors = -1,
                                     .take = launch->take,
                                     .user = launch->user};
    char **environment = environment_make(launch, &made);
    int err = environment ? 0 : -ENOMEM;
    err = err ? err : start_program(program, launch, environment);
    err = err ? err : open_pidfd(program);
    /* The first variable is SPEX_OUT with the path of this run's socket: only this run's processes
     * have it. */
    if (!err && launch->socket && launch->sweep) {
        program->mark = environment[0];
        environment[0] = NULL;
    }
    environment_free(environment, made);
    if (err)
        return spex_fail(error, err, "did not start: %s: %s", launch->argv[0], strerror(-err));
    return 0;
}

/* WNOWAIT keeps the process number in use until teardown has killed the rest of its process
 * group. */
bool spex_program_ended(struct spex_program *program) {
    siginfo_t info = {.si_pid = 0};
    if (!program->ended &&
        waitid(P_PID, (id_t)program->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
        program->ended = true;
        program->end_ns = spex_clock_ns(CLOCK_MONOTONIC);
        program->by_signal = info.si_code != CLD_EXITED;
        program->status = info.si_status;
    }
    return program->ended;
}

/* Waits for the program's end, at most TEARDOWN_SECONDS. Its output is read meanwhile, since a full
 * pipe would block it. */
static void wait_for_end(struct spex_program *program) {
    struct spex_deadline deadline = spex_deadline_in(TEARDOWN_SECONDS);
    while (!spex_program_ended(program)) {
        int left = spex_deadline_left_ms(deadline);
        struct pollfd fds[3] = {{.fd = program->pidfd, .events = POLLIN},
                                {.fd = program->output, .events = POLLIN},
                                {.fd = spex_program_errors(program), .events = POLLIN}};
        if (left == 0)
            return;
        if (spex_wait_ready(fds, 3, left) > 0)
            spex_program_output(program);
    }
}

/* Signals the program's process group, and the program itself if it has left that. */
static void signal_program(const struct spex_program *program, int signal_number) {
    kill(-program->pid, signal_number);
    if (getpgid(program->pid) != program->pid)
        kill(program->pid, signal_number);
}

/* Reaps processes of the program's group that this process has adopted and SIGKILL has ended. While
 * there are any, no other group has the number. */
static void reap_orphans(pid_t group) {
    struct spex_deadline deadline = spex_deadline_in(TEARDOWN_SECONDS);
    pid_t reaped;
    while ((reaped = waitpid(-group, NULL, WNOHANG | __WALL)) >= 0 &&
           spex_deadline_left_ms(deadline) > 0)
        if (reaped == 0)
            spex_wait_ns(1000000);
}

/* The process group is killed while the program is not reaped yet: its number cannot be another
 * group's then. A stopped process handles SIGTERM only after SIGCONT. Does nothing for a program
 * that was never launched. */
int spex_program_teardown(struct spex_program *program, struct spex_error *error) {
    if (program->pid <= 0 || program->pidfd < 0)
        return 0;
    if (!spex_program_ended(program)) {
        signal_program(program, SIGTERM);
        signal_program(program, SIGCONT);
        wait_for_end(program);
    }
    signal_program(program, SIGKILL);
    wait_for_end(program);
    int err = 0;
    if (program->ended) {
        spex_usage_reap(program->pid, &program->usage);
        reap_orphans(program->pid);
    } else {
        err = spex_fail(error, -EPERM, "cannot end the program, process %d", (int)program->pid);
    }
    if (program->mark)
        spex_leftovers_kill(program->mark);
    close(program->pidfd);
    close_output(program);
    free(program->mark);
    program->mark = NULL;
    program->pidfd = -1;
    return err;
}
