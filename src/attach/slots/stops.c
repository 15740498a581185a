/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "attach/slots/stops.h"

#ifdef __x86_64__

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/slots/unfinished.h"
#include "base/clock.h"

/* What a call returns that is made again unless a handler is run meanwhile (include/linux/errno.h). */
enum { RESTART_UNLESS_HANDLED = 514 };

/* A thread stops within some microseconds, if it does not wait for a disk. */
static const long step_ns = 20000;

int spex_stop_wait(pid_t thread, double seconds) {
    const struct timespec step = {.tv_nsec = step_ns};
    double end = spex_clock_seconds(CLOCK_MONOTONIC) + seconds;
    int status;
    pid_t got;
    while ((got = waitpid(thread, &status, __WALL | WNOHANG)) == 0) {
        if (spex_clock_seconds(CLOCK_MONOTONIC) > end)
            return -1;
        nanosleep(&step, NULL);
    }
    return got == thread && WIFSTOPPED(status) ? status : -1;
}

bool spex_stop_is_trap(int status) {
    return status >> 8 == (SIGTRAP | PTRACE_EVENT_STOP << 8);
}

bool spex_stop_is_call(int status) {
    return status >> 8 == (SIGTRAP | 0x80);
}

/* No signal goes with a stop of all threads. */
void spex_stop_let_go(pid_t thread, int status) {
    intptr_t number =
        status >= 0 && status >> 16 == 0 && !spex_stop_is_call(status) ? WSTOPSIG(status) : 0;
    ptrace(PTRACE_DETACH, thread, NULL, (void *)number);
}

/* Calls that the kernel makes again by itself, without their having an effect before; and those that end instead, as if a
 * signal had come, which are made again here. */
static bool is_restarted(long number) {
    static const long calls[] = {SYS_poll,  SYS_select,   SYS_nanosleep,      SYS_clock_nanosleep,
                                 SYS_pause, SYS_wait4,    SYS_waitid,         SYS_futex,
                                 SYS_ppoll, SYS_pselect6, SYS_restart_syscall};
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
        if (calls[c] == number)
            return true;
    return false;
}

static bool is_repeatable(long number) {
    static const long calls[] = {
        SYS_read,          SYS_accept,          SYS_accept4,      SYS_recvfrom,
        SYS_recvmsg,       SYS_epoll_wait,      SYS_epoll_pwait,  441 /* epoll_pwait2 */,
        SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_io_getevents, SYS_semop,
        SYS_semtimedop};
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
        if (calls[c] == number)
            return true;
    return false;
}

enum spex_stop_doing spex_stop_doing(pid_t process, pid_t thread) {
    char path[64], text[128] = "";
    char *rest;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)process, (int)thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (got > 0 && strncmp(text, "running", 7) == 0)
        return SPEX_STOP_RUNS;
    if (got <= 0)
        return SPEX_STOP_NOTICES;
    long number = strtol(text, &rest, 10);
    uint64_t count = 0;
    for (unsigned argument = 0; argument < 3; argument++)
        count = strtoull(rest, &rest, 16);
    return is_restarted(number)                 ? SPEX_STOP_RESTARTED
           : is_repeatable(number)              ? SPEX_STOP_REPEATED
           : spex_unfinished_may(number, count) ? SPEX_STOP_CONTINUED
                                                : SPEX_STOP_NOTICES;
}

bool spex_stop_restart(struct user_regs_struct *registers) {
    long number = (long)registers->orig_rax;
    if ((int64_t)registers->rax != -EINTR || number < 0)
        return true;
    if (!is_repeatable(number) && !is_restarted(number) &&
        !spex_unfinished_may(number, registers->rdx))
        return false;
    registers->rax = (uint64_t)-RESTART_UNLESS_HANDLED;
    return true;
}

#endif
