/* SPDX-License-Identifier: MIT */
/* Loaded before a program: all its clocks stand still. */
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    (void)clock;
    *now = (struct timespec){.tv_sec = 1577836800};
    return 0;
}
