/* SPDX-License-Identifier: MIT */
/* The wrapped clock and sleep, and the pointer to the time for which this process was stopped. */
#define _GNU_SOURCE
#include "budget_clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>

#include <spex/atomic.h>

#include "base/clock.h"

uint64_t __real_spex_clock_ns(clockid_t clock);
uint64_t __wrap_spex_clock_ns(clockid_t clock);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

enum { ARGUMENTS = 6 }; /* of a system call, at most */

static const uint64_t never_stopped;
static const uint64_t *stopped_total = &never_stopped;

static bool sleeper_known;
static clockid_t sleeper_clock;
/* The same when this thread first asked, and what it was told last. */
static __thread uint64_t slept_before, told;
static __thread bool has_asked;

void budget_clock_set(const uint64_t *stopped_ns) {
    stopped_total = stopped_ns;
}

void budget_clock_set_sleeper(pthread_t sleeper) {
    sleeper_known = pthread_getcpuclockid(sleeper, &sleeper_clock) == 0;
}

/* CPU time of this thread without what stopping and continuing it has taken. */
static uint64_t thread_cpu_ns(void) {
    uint64_t own = __real_spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!sleeper_known)
        return own;
    uint64_t slept = __real_spex_clock_ns(sleeper_clock);
    if (!has_asked)
        slept_before = slept;
    has_asked = true;
    uint64_t stopped = slept - slept_before;
    if (own > stopped + told)
        told = own - stopped;
    return told;
}

/* Reads the clock again when the process was stopped between the two reads of the total. The
 * loads are relaxed: no other data depends on them, and the parent adds to the total before it
 * continues the process. */
uint64_t __wrap_spex_clock_ns(clockid_t clock) {
    if (clock == CLOCK_THREAD_CPUTIME_ID)
        return thread_cpu_ns();
    if (clock != CLOCK_MONOTONIC)
        return __real_spex_clock_ns(clock);
    for (;;) {
        uint64_t before = spex_load_relaxed(stopped_total);
        uint64_t now = __real_spex_clock_ns(clock);
        if (spex_load_relaxed(stopped_total) == before)
            return now - before;
    }
}

/* Waits again for what is left of the limit after a time in which the process was stopped. */
static long wait_at_futex(long futex, long value, const struct timespec *limit) {
    uint64_t begin = __wrap_spex_clock_ns(CLOCK_MONOTONIC), waited = 0,
             most = (uint64_t)limit->tv_sec * 1000000000u + (uint64_t)limit->tv_nsec;
    for (;;) {
        struct timespec left = {.tv_sec = (time_t)((most - waited) / 1000000000u),
                                .tv_nsec = (long)((most - waited) % 1000000000u)};
        long result = __real_syscall(SYS_futex, futex, FUTEX_WAIT, value, &left, 0L, 0L);
        if (result == 0 || errno != ETIMEDOUT)
            return result;
        waited = __wrap_spex_clock_ns(CLOCK_MONOTONIC) - begin;
        if (waited >= most)
            return result;
    }
}

long __wrap_syscall(long number, ...) {
    long of[ARGUMENTS];
    va_list arguments;
    va_start(arguments, number);
    for (int a = 0; a < ARGUMENTS; a++)
        of[a] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_futex && of[1] == FUTEX_WAIT && of[3])
        return wait_at_futex(of[0], of[2], (const struct timespec *)of[3]);
    return __real_syscall(number, of[0], of[1], of[2], of[3], of[4], of[5]);
}
