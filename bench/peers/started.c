/* SPDX-License-Identifier: MIT */
/* Starts spex in a program that does not know of it, before main, and stops it after. */
#include <spex/spex.h>

static __attribute__((constructor)) void start(void) {
    spex_start(NULL);
}

static __attribute__((destructor)) void stop(void) {
    spex_stop();
}
