/* SPDX-License-Identifier: MIT */
/* How a child tells its parent that its exec has failed: by a pipe that a successful one closes. */
#ifndef SPEX_BASE_EXEC_STATUS_H
#define SPEX_BASE_EXEC_STATUS_H

#include <errno.h>
#include <unistd.h>

/* In the child: `err` is the errno value. */
_Noreturn static inline void spex_exec_failed(int status, int err) {
    ssize_t told = write(status, &err, sizeof(err));
    _exit(told == sizeof(err) ? 127 : 126);
}

/* In the parent: 0 once the program runs, or its exec's error, negative. */
static inline int spex_exec_status(int status) {
    int err = 0;
    ssize_t got;
    do
        got = read(status, &err, sizeof(err));
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(err) ? -err : 0;
}

#endif
