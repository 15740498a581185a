/* SPDX-License-Identifier: MIT */
/* Closes what holds breakpoints. A process that is killed while the kernel removes a breakpoint at its call leaves that
 * behind ("failed to unregister, leaking uprobe"); what a process holds when it ends is always removed. So the last
 * descriptors are those of another process, which ends. */
#ifndef SPEX_ATTACH_CLOSING_H
#define SPEX_ATTACH_CLOSING_H

#include <stddef.h>
#include <sys/types.h>

struct spex_closing {
    pid_t process;
    void *stack;
};

/* Gives up descriptors, which are closed for this process when it returns. To be waited for. */
void spex_closing_begin(struct spex_closing *closing, const int *descriptors, size_t count);

/* Returns when the kernel has removed them: the seconds of CPU time that it has taken in the other process. */
double spex_closing_wait(struct spex_closing *closing);

#endif
