/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/files/pipe_end.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "text/waits.h"

/* How long is waited each time for the other end of a pipe, 10 s, in steps after which signals are
 * looked at. */
enum { WAIT_STEP_MS = 100, WAIT_STEPS = 100 };

bool spex_signal_ends(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
            sigismember(&pending, SIGHUP) == 1);
}

int spex_pipe_wait(int fd, short events) {
    struct pollfd end = {.fd = fd, .events = events};
    int ready = 0;
    for (int step = 0; ready == 0 && step < WAIT_STEPS; step++) {
        if (spex_signal_ends())
            return -EINTR;
        ready = spex_wait_ready(&end, 1, WAIT_STEP_MS);
    }
    return ready ? 0 : -ETIMEDOUT;
}

int spex_pipe_open(const char *path, int flags) {
    int fd = -1;
    for (int step = 0; fd < 0 && step < WAIT_STEPS; step++) {
        if (step > 0)
            spex_wait_ns(WAIT_STEP_MS * UINT64_C(1000000));
        fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 && (errno != ENXIO || spex_signal_ends()))
            break;
    }
    return fd < 0 ? -errno : fd;
}

const char *spex_pipe_error(int err) {
    return err == -ETIMEDOUT ? "nobody writes to it"
           : err == -EINTR   ? "ended by a signal"
           : err == -ENXIO   ? "nobody reads it"
                             : strerror(-err);
}
