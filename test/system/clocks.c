/* SPDX-License-Identifier: MIT */
/* A library that is loaded before libc and pretends another time to the program, as faketime does.
 * CLOCKS: "stands" still, with waits that never end; is set "back" at each look; jumps "ahead" by
 * hours at each look; goes "fast" or "slow", a thousand times. "kernel" stands still, too, for who
 * asks the kernel through libc's syscall(). */
#define _GNU_SOURCE
#pragma GCC visibility push(default) /* found in the place of libc's */
#include <dlfcn.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char *manner(void) {
    const char *told = getenv("CLOCKS");
    return told ? told : "";
}

static int is(const char *one) {
    return strcmp(manner(), one) == 0;
}

/* What the kernel says, by the function that is replaced here. */
static long kernel(long call, long a, long b, long c, long d, long e, long f) {
    static long (*libc_syscall)(long, ...);
    if (!libc_syscall)
        *(void **)&libc_syscall = dlsym(RTLD_NEXT, "syscall");
    return libc_syscall(call, a, b, c, d, e, f);
}

/* By how much a time or a wait of so many nanoseconds becomes longer, and shorter. */
static int64_t stretched(int64_t ns) {
    return is("fast") ? ns / 1000 * 1000000 : is("slow") ? ns / 1000 : ns;
}

static int64_t stretched_wait(int64_t ns) {
    return is("stands") || is("kernel") ? INT64_MAX
           : is("fast")                 ? ns / 1000
           : is("slow")                 ? 1000 * ns
                                        : ns;
}

static int64_t pretended(clockid_t clock) {
    static int looks;
    struct timespec now;
    kernel(SYS_clock_gettime, clock, (long)&now, 0, 0, 0, 0);
    int64_t ns = stretched((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    int64_t hours = (int64_t)__atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED) * 3600 * 1000000000;
    return is("stands") || is("kernel") ? 1000000000000000000
           : is("back")                 ? 2000000000000000000 - ns - hours
           : is("ahead")                ? ns + hours
                                        : ns;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int64_t ns = pretended(clock);
    *time = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    int64_t ns = pretended(CLOCK_REALTIME);
    (void)zone;
    *time = (struct timeval){.tv_sec = ns / 1000000000, .tv_usec = ns % 1000000000 / 1000};
    return 0;
}

time_t time(time_t *to) {
    time_t now = pretended(CLOCK_REALTIME) / 1000000000;
    if (to)
        *to = now;
    return now;
}

int nanosleep(const struct timespec *asked, struct timespec *left) {
    int64_t ns = stretched_wait((int64_t)asked->tv_sec * 1000000000 + asked->tv_nsec);
    const struct timespec wait = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return (int)kernel(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&wait, (long)left, 0, 0);
}

int poll(struct pollfd *fds, nfds_t count, int ms) {
    int64_t ns = ms < 0 ? INT64_MAX : ms == 0 ? 0 : stretched_wait((int64_t)ms * 1000000);
    const struct timespec wait = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    struct timespec left = wait;
    return (int)kernel(SYS_ppoll, (long)fds, (long)count, (long)&left, 0, 0, 0);
}

/* On x86-64 and AArch64 a system call has at most six arguments, of a word each. */
long syscall(long call, ...) {
    long arguments[6];
    va_list list;
    va_start(list, call);
    for (int a = 0; a < 6; a++)
        arguments[a] = va_arg(list, long);
    va_end(list);
    if (call == SYS_clock_gettime && is("kernel"))
        return clock_gettime((clockid_t)arguments[0], (struct timespec *)arguments[1]);
    return kernel(call, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                  arguments[5]);
}
