/* SPDX-License-Identifier: MIT */
/* Tells a parent whether its child's exec has failed. Both have a pipe whose ends are closed on
 * exec: a child that fails writes the error to it; after a successful exec the parent reads its
 * end. */
#ifndef SPEX_BASE_EXEC_STATUS_H
#define SPEX_BASE_EXEC_STATUS_H

#include <errno.h>
#include <unistd.h>

/* For the child: writes the errno value `err` to the pipe and exits, with 127 as a shell does, or
 * with 126 when the parent cannot be told. */
_Noreturn static inline void spex_exec_failed(int status, int err) {
    ssize_t told = write(status, &err, sizeof(err));
    _exit(told == sizeof(err) ? 127 : 126);
}

/* For the parent: waits for the exec. Returns 0 when the program runs, or the negative errno value
 * of the exec. The parent must have closed its own end for writing. */
static inline int spex_exec_status(int status) {
    int err = 0;
    ssize_t got;
    do
        got = read(status, &err, sizeof(err));
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(err) ? -err : 0;
}

#endif
