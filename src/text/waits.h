/* SPDX-License-Identifier: MIT */
/* Waits that the kernel times. A library that is loaded before libc may pretend another time to the
 * program, and may stop or stretch libc's own waits: spex must neither hang with them nor spin.
 * None of these calls is a cancellation point. */
#ifndef SPEX_TEXT_WAITS_H
#define SPEX_TEXT_WAITS_H

#include <poll.h>
#include <stdint.h>

/* As poll(). */
int spex_wait_ready(struct pollfd *fds, nfds_t count, int timeout_ms);

/* Sleeps for so many nanoseconds, or until a signal comes. */
void spex_wait_ns(uint64_t ns);

#endif
