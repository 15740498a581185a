/* SPDX-License-Identifier: MIT */
#ifndef COMPRESS_SETTINGS_H
#define COMPRESS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct settings {
    int64_t level;
    int64_t window_log;
    int64_t block_kb;
    int64_t threads;
    unsigned strategy; /* ZSTD_strategy, or 0: the level's */
    bool long_distance;
    bool dictionary;
    int64_t link_mb; /* MB/s, or 0: no link */
    int64_t seed;
    double seconds;
};

/* Ends the program with one line for anything it does not understand, and after --help. */
void settings_read(struct settings *settings, int argc, char **argv);

#endif
