/* SPDX-License-Identifier: MIT */
/* The program writes to a pipe, by its name /dev/fd/N: there is no file to remove, whatever ends
 * the command. Whether a benchmark has failed is in the output. */
#define _GNU_SOURCE
#include "tools/bench/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exec_status.h"
#include "text/waits.h"
#include "tools/bench/results.h"

/* The options before those of the user, who may replace them. */
enum { OPTIONS = 4 };

struct command_line {
    char texts[OPTIONS][64];
    char **arguments;
};

static int command_line_make(struct command_line *line, const struct spex_bench_program *program,
                             int descriptor) {
    size_t users = 0;
    while (program->options[users])
        users++;
    line->arguments = calloc(1 + OPTIONS + users + 1, sizeof(*line->arguments));
    if (!line->arguments)
        return -ENOMEM;
    snprintf(line->texts[0], sizeof(line->texts[0]), "--benchmark_repetitions=1");
    snprintf(line->texts[1], sizeof(line->texts[1]), "--benchmark_min_time=%g",
             program->min_seconds);
    snprintf(line->texts[2], sizeof(line->texts[2]), "--benchmark_out=/dev/fd/%d", descriptor);
    snprintf(line->texts[3], sizeof(line->texts[3]), "--benchmark_out_format=json");
    line->arguments[0] = (char *)(uintptr_t)program->path;
    for (size_t o = 0; o < OPTIONS; o++)
        line->arguments[1 + o] = line->texts[o];
    memcpy(line->arguments + 1 + OPTIONS, program->options, users * sizeof(*line->arguments));
    return 0;
}

/* `told` is closed by the exec, `output` is not. */
_Noreturn static void child_execute(const struct spex_bench_program *program, char **arguments,
                                    int output, int told) {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    fcntl(output, F_SETFD, 0);
    dup2(nothing, STDOUT_FILENO);
    if (!program->heard)
        dup2(nothing, STDERR_FILENO);
    execvp(program->path, arguments);
    spex_exec_failed(told, errno);
}

/* Reads until the program has ended, which `pidfd` tells: processes that it leaves behind may keep
 * the pipe open. 0; -EFBIG; or another negative errno value. */
static int read_all(int in, int pidfd, char **text, size_t *length) {
    struct pollfd events[] = {{.fd = in, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
    bool ended = false;
    size_t room = 0;
    for (;;) {
        if (*length == room) {
            if (room >= SPEX_BENCH_OUTPUT_MAX)
                return -EFBIG;
            char *more = realloc(*text, room = room ? 2 * room : 1 << 16);
            if (!more)
                return -ENOMEM;
            *text = more;
        }
        ssize_t got = read(in, *text + *length, room - *length);
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
        if (got == 0 || (got < 0 && ended && errno == EAGAIN))
            return 0;
        if (got < 0 && spex_wait_ready(events, 2, -1) > 0)
            ended = events[1].revents != 0;
        *length += got > 0 ? (size_t)got : 0;
    }
}

/* How the program has ended. It may exit with any status: what it wrote is looked at. */
static int child_end(pid_t child, const struct spex_bench_program *program,
                     struct spex_error *error) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFSIGNALED(status))
        return 0;
    bool asked = WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM;
    return spex_fail(error, asked ? -EINTR : -ECHILD, "%s was killed by signal %d", program->path,
                     WTERMSIG(status));
}

/* Starts the program; *child is its process. 0 or a negative errno value. */
static int start(const struct spex_bench_program *program, int output, pid_t *child) {
    struct command_line line;
    int told[2], err = command_line_make(&line, program, output);
    if (!err && pipe2(told, O_CLOEXEC) < 0)
        err = -errno;
    if (err) {
        free(line.arguments);
        return err;
    }
    *child = fork();
    if (*child == 0)
        child_execute(program, line.arguments, output, told[1]);
    err = *child < 0 ? -errno : 0;
    close(told[1]);
    if (!err && (err = spex_exec_status(told[0])) != 0)
        waitpid(*child, NULL, 0);
    close(told[0]);
    free(line.arguments);
    return err;
}

int spex_bench_program_run(const struct spex_bench_program *program, json_t **output,
                           struct spex_error *error) {
    int ends[2];
    pid_t child;
    char *text = NULL;
    size_t length = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return spex_fail(error, -errno, "pipe: %s", strerror(errno));
    int err = start(program, ends[1], &child);
    close(ends[1]);
    if (err) {
        close(ends[0]);
        return spex_fail(error, err, "%s cannot be started: %s", program->path, strerror(-err));
    }
    int pidfd = pidfd_open(child, 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    err = read_all(ends[0], pidfd, &text, &length);
    close(ends[0]);
    if (pidfd >= 0)
        close(pidfd);
    if (err) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        spex_error_set(error, "what %s writes cannot be read: %s", program->path, strerror(-err));
    } else {
        err = child_end(child, program, error);
    }
    if (!err && !(*output = spex_bench_output_read(text, length, program->path, error)))
        err = -EBADMSG;
    free(text);
    return err;
}
