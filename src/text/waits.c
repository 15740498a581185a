/* SPDX-License-Identifier: MIT */
/* Makes the system calls that libc makes, since a program's sandbox may allow no others. */
#define _GNU_SOURCE
#include "text/waits.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef SYS_poll
int spex_wait_ready(struct pollfd *fds, nfds_t count, int timeout_ms) {
    return (int)syscall(SYS_poll, fds, count, timeout_ms);
}
#else
int spex_wait_ready(struct pollfd *fds, nfds_t count, int timeout_ms) {
    struct timespec limit = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
    return (int)syscall(SYS_ppoll, fds, count, timeout_ms < 0 ? NULL : &limit, NULL, (size_t)0);
}
#endif

void spex_wait_ns(uint64_t ns) {
    const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                                  .tv_nsec = (long)(ns % 1000000000)};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
}
