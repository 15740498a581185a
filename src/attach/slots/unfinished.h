/* SPDX-License-Identifier: MIT */
/* A thread that is stopped within a call that writes to a pipe or a socket has written a part of its bytes: the call returns how
 * many. Such a thread goes on at code of this process's which makes the call for the others, and returns the sum. */
#ifndef SPEX_ATTACH_SLOTS_UNFINISHED_H
#define SPEX_ATTACH_SLOTS_UNFINISHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

enum { SPEX_UNFINISHED_BYTES = 64 };

/* The code, for any address. Processors that it is not known of have none. */
void spex_unfinished_write(uint8_t bytes[SPEX_UNFINISHED_BYTES]);

/* Whether a call of these arguments would be gone on with. */
bool spex_unfinished_may(long number, uint64_t count);

#ifdef __x86_64__
/* Has a thread that is stopped go on at that code, if its call has written a part; the thread has what is needed on its stack.
 * `memory` is that of its process. Makes system calls alone. False: there is nothing to be gone on with, or it is not known how. */
bool spex_unfinished_go_on(pid_t thread, int memory, uint64_t code,
                           struct user_regs_struct *registers);
#endif

#endif
