/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/clock.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Asks the kernel. libc would ask a library that pretends another time to the program, by which no
 * duration is true and no budget holds. A sandbox may let the program make no such call, as libc
 * mostly needs none. */
int spex_clock_read(clockid_t clock, uint64_t *ns) {
    struct timespec now;
    if (syscall(SYS_clock_gettime, clock, &now) != 0 && clock_gettime(clock, &now) != 0)
        return -errno;
    *ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return 0;
}

uint64_t spex_clock_ns(clockid_t clock) {
    uint64_t now = 0;
    spex_clock_read(clock, &now);
    return now;
}

double spex_clock_seconds(clockid_t clock) {
    return (double)spex_clock_ns(clock) / 1e9;
}
