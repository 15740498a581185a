/* SPDX-License-Identifier: MIT */
#ifndef ALLOCATE_SETTINGS_H
#define ALLOCATE_SETTINGS_H

#include <stdint.h>

struct settings {
    int64_t threads;
    int64_t arenas; /* as the following in KiB, -1: glibc's own */
    int64_t mmap_threshold;
    int64_t trim_threshold;
    int64_t top_pad;
    int64_t batch;
    int64_t remote;
    unsigned mix;
    int64_t seed;
    double seconds;
};

/* Ends the program with one line for anything it does not understand, and after --help. */
void settings_read(struct settings *settings, int argc, char **argv);

/* Tells glibc. Before there is a second thread. */
void settings_apply(const struct settings *settings);

#endif
