/* SPDX-License-Identifier: MIT */
/* Stops threads of another process, so that they do not notice. It makes system calls alone, and allocates nothing. */
#ifndef SPEX_ATTACH_SLOTS_STOPS_H
#define SPEX_ATTACH_SLOTS_STOPS_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

/* What a thread does: it runs, in a call or not; waits in a call that the kernel makes again by itself, or in one that would return
 * -EINTR, which spex_stop_restart has made again, or in one of which spex_unfinished_go_on makes the rest; or in another call, of
 * which it would notice that it is stopped. */
enum spex_stop_doing {
    SPEX_STOP_RUNS,
    SPEX_STOP_RESTARTED,
    SPEX_STOP_REPEATED,
    SPEX_STOP_CONTINUED,
    SPEX_STOP_NOTICES
};
enum spex_stop_doing spex_stop_doing(pid_t process, pid_t thread);

/* Waits for the next stop of a thread that is traced. Returns its status; -1: there was none in time, or it has ended. */
int spex_stop_wait(pid_t thread, double seconds);

/* A stop that was asked for, and one at the begin or the end of a system call. */
bool spex_stop_is_trap(int status);
bool spex_stop_is_call(int status);

/* Lets a thread go on, with the signal that it has stopped for. */
void spex_stop_let_go(pid_t thread, int status);

#ifdef __x86_64__
/* Has a call that ends because of a stop made again. False: the thread will notice. */
bool spex_stop_restart(struct user_regs_struct *registers);
#endif

#endif
