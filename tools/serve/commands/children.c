/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/serve/commands/children.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "text/printable.h"
#include "text/waits.h"

/* Time that a child has to end when it is asked to. */
#define GRACE_NS 5000000000ull

/* Read at once, so that others have their turn. */
enum { BLOCK_BYTES = 64 * 1024, BLOCKS = 16 };

enum { ARGUMENTS_MAX = 15 };

/* In the child: runs the command, which ends with this server. Does not return. */
__attribute__((noreturn)) static void run(const struct spex_child_task *task, pid_t parent, int out,
                                          int error) {
    char *argv[ARGUMENTS_MAX + 2] = {(char *)(uintptr_t) "spex"};
    const struct rlimit file = {task->most_file, task->most_file};
    sigset_t none;
    int in = open("/dev/null", O_RDONLY);
    for (size_t a = 0; a < ARGUMENTS_MAX && task->arguments[a]; a++)
        argv[a + 1] = (char *)(uintptr_t)task->arguments[a];
    sigemptyset(&none);
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (in >= 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(error, 2) == 2 &&
        (!task->most_file || setrlimit(RLIMIT_FSIZE, &file) == 0) &&
        (task->folder < 0 || fchdir(task->folder) == 0) && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 &&
        getppid() == parent) {
        syscall(SYS_close_range, 3u, ~0u, 0u);
        execv("/proc/self/exe", argv);
    }
    _exit(127);
}

static void close_all(struct spex_child *child) {
    int *const fds[] = {&child->pidfd, &child->out, &child->error};
    for (size_t f = 0; f < sizeof(fds) / sizeof(fds[0]); f++) {
        if (*fds[f] >= 0)
            close(*fds[f]);
        *fds[f] = -1;
    }
}

/* A pipe of which this process reads without waiting. */
static int open_pipe(int fds[2]) {
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -errno;
    return fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
}

/* 0, or a negative errno value; the child's descriptors are closed by the caller then. */
static int begin(struct spex_child *child) {
    int out[2] = {-1, -1}, error[2] = {-1, -1};
    int err = open_pipe(out);
    err = err ? err : open_pipe(error);
    child->out = out[0];
    child->error = error[0];
    pid_t parent = getpid();
    pid_t process = err ? -1 : fork();
    if (process == 0)
        run(&child->task, parent, out[1], error[1]);
    if (process < 0)
        err = err ? err : -errno;
    if (out[1] >= 0)
        close(out[1]);
    if (error[1] >= 0)
        close(error[1]);
    if (err)
        return err;
    child->process = process;
    child->pidfd = (int)syscall(SYS_pidfd_open, process, 0);
    if (child->pidfd >= 0)
        return 0;
    err = -errno;
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    return err;
}

struct spex_child *spex_children_start(struct spex_children *children,
                                       const struct spex_child_task *task, uint64_t now_ns) {
    struct spex_child *child = NULL;
    for (size_t c = 0; !child && c < SPEX_CHILDREN; c++)
        if (!children->list[c].process)
            child = &children->list[c];
    if (!child)
        return NULL;
    *child = (struct spex_child){.task = *task,
                                 .pidfd = -1,
                                 .out = -1,
                                 .error = -1,
                                 .end_ns = task->most_ns ? now_ns + task->most_ns : UINT64_MAX,
                                 .kill_ns = UINT64_MAX};
    if (begin(child) == 0)
        return child;
    close_all(child);
    child->process = 0;
    return NULL;
}

/* `status`: what its task is told; 0: what it says itself. */
static void ask_to_end(struct spex_child *child, int status, uint64_t now_ns) {
    if (child->kill_ns != UINT64_MAX)
        return;
    kill(child->process, SIGTERM);
    child->status = status;
    child->end_ns = UINT64_MAX;
    child->kill_ns = now_ns + GRACE_NS;
}

void spex_child_end(struct spex_child *child, uint64_t now_ns) {
    ask_to_end(child, -EINTR, now_ns);
}

void spex_child_stop(struct spex_child *child, uint64_t now_ns) {
    child->task.line = NULL;
    child->task.over = NULL;
    child->task.most = 0;
    ask_to_end(child, 0, now_ns);
}

uint64_t spex_children_wait(const struct spex_children *children, struct pollfd *fds) {
    uint64_t due = UINT64_MAX;
    for (size_t c = 0; c < SPEX_CHILDREN; c++) {
        const struct spex_child *child = &children->list[c];
        const int of[SPEX_CHILD_FDS] = {child->pidfd, child->out, child->error};
        for (size_t f = 0; f < SPEX_CHILD_FDS; f++)
            fds[c * SPEX_CHILD_FDS + f] =
                (struct pollfd){.fd = child->process ? of[f] : -1, .events = POLLIN};
        if (!child->process)
            continue;
        due = child->end_ns < due ? child->end_ns : due;
        due = child->kill_ns < due ? child->kill_ns : due;
    }
    return due;
}

/* Adds to the output or to the line. What does not fit ends the child, or leaves the line out. */
static void keep(struct spex_child *child, const char *data, size_t bytes, uint64_t now_ns) {
    if (child->skips)
        return;
    char *grown = child->bytes + bytes <= child->task.most
                      ? realloc(child->text, child->bytes + bytes + 1)
                      : NULL;
    if (!grown) {
        child->skips = true;
        if (!child->task.line)
            ask_to_end(child, -EFBIG, now_ns);
        return;
    }
    memcpy(grown + child->bytes, data, bytes);
    child->text = grown;
    child->bytes += bytes;
    grown[child->bytes] = '\0';
}

static void end_line(struct spex_child *child) {
    if (!child->skips && child->text && child->task.line)
        child->task.line(child->task.user, child->text, child->bytes);
    child->bytes = 0;
    child->skips = false;
}

static void take_output(struct spex_child *child, const char *data, size_t bytes, uint64_t now_ns) {
    const char *end;
    while (child->task.line && (end = memchr(data, '\n', bytes))) {
        keep(child, data, (size_t)(end - data), now_ns);
        end_line(child);
        bytes -= (size_t)(end + 1 - data);
        data = end + 1;
    }
    if (bytes)
        keep(child, data, bytes, now_ns);
}

/* Of its last line, the beginning is kept. */
static void take_error(struct spex_child *child, const char *data, size_t bytes) {
    for (size_t b = 0; b < bytes; b++) {
        if (child->why_ended && data[b] != '\n') {
            child->why_bytes = 0;
            child->why_ended = false;
        }
        if (data[b] == '\n')
            child->why_ended = true;
        else if (child->why_bytes < sizeof(child->why) - 1)
            child->why[child->why_bytes++] = data[b];
        child->why[child->why_bytes] = '\0';
    }
}

/* Reads what is there of the output (`error`: of standard error), and closes it at its end. */
static void take_stream(struct spex_child *child, bool error, uint64_t now_ns) {
    char block[BLOCK_BYTES];
    int *fd = error ? &child->error : &child->out;
    for (int b = 0; b < BLOCKS && *fd >= 0; b++) {
        ssize_t bytes = read(*fd, block, sizeof(block));
        if (bytes < 0)
            return;
        if (bytes == 0) {
            close(*fd);
            *fd = -1;
        } else if (error) {
            take_error(child, block, (size_t)bytes);
        } else {
            take_output(child, block, (size_t)bytes, now_ns);
        }
    }
}

/* Whose message it is, is known. */
static void name_removed(char *why) {
    static const char name[] = "spex: ";
    if (strncmp(why, name, strlen(name)) == 0)
        memmove(why, why + strlen(name), strlen(why + strlen(name)) + 1);
}

/* What it wrote before it ended is read first. */
static void take_end(struct spex_child *child, uint64_t now_ns) {
    int status;
    if (waitpid(child->process, &status, WNOHANG) != child->process)
        return;
    take_stream(child, false, now_ns);
    take_stream(child, true, now_ns);
    name_removed(child->why);
    spex_make_printable(child->why);
    if (!child->status)
        child->status = WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
    close_all(child);
    if (child->task.over)
        child->task.over(child->task.user, child);
    free(child->text);
    child->text = NULL;
    child->process = 0;
}

void spex_children_take(struct spex_children *children, const struct pollfd *fds, uint64_t now_ns) {
    for (size_t c = 0; c < SPEX_CHILDREN; c++) {
        struct spex_child *child = &children->list[c];
        const struct pollfd *of = fds + c * SPEX_CHILD_FDS;
        if (!child->process || of[0].fd != child->pidfd)
            continue;
        if (of[1].revents)
            take_stream(child, false, now_ns);
        if (of[2].revents)
            take_stream(child, true, now_ns);
        if (now_ns >= child->end_ns)
            ask_to_end(child, -ETIMEDOUT, now_ns);
        if (now_ns >= child->kill_ns)
            kill(child->process, SIGKILL);
        if (of[0].revents)
            take_end(child, now_ns);
    }
}

static bool any(const struct spex_children *children) {
    for (size_t c = 0; c < SPEX_CHILDREN; c++)
        if (children->list[c].process)
            return true;
    return false;
}

void spex_children_close(struct spex_children *children) {
    struct pollfd fds[SPEX_CHILDREN_FDS];
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    for (size_t c = 0; c < SPEX_CHILDREN; c++)
        if (children->list[c].process)
            spex_child_stop(&children->list[c], now);
    while (any(children)) {
        spex_children_wait(children, fds);
        spex_wait_ready(fds, SPEX_CHILDREN_FDS, 100);
        spex_children_take(children, fds, spex_clock_ns(CLOCK_MONOTONIC));
    }
}
