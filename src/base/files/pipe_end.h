/* SPDX-License-Identifier: MIT */
/* Files that may be pipes, whose other end is waited for, but not for ever. */
#ifndef SPEX_BASE_FILES_PIPE_END_H
#define SPEX_BASE_FILES_PIPE_END_H

#include <stdbool.h>

/* Whether the process has got a signal to end, and has blocked it to hear it at a better time. */
bool spex_signal_ends(void);

/* Waits for the other end of a pipe, 10 s at most. What is no pipe is ready always. 0; -EINTR: a
 * signal has come; -ETIMEDOUT. */
int spex_pipe_wait(int fd, short events);

/* As open(), but without waiting for ever for a pipe's reader. A descriptor that does not block, or
 * a negative errno value. */
int spex_pipe_open(const char *path, int flags);

/* The operation that failed, by these errors. */
const char *spex_pipe_error(int err);

#endif
