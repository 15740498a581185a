/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include <err.h>
#include <stddef.h>

#include "options.h"

static const char summary[] = "usage: compress [OPTION]...\n"
                              "Compresses a journal with zstd until SIGTERM or SIGINT.\n\n";

static const char *const strategies[] = {"level",   "fast",  "dfast",   "greedy",   "lazy", "lazy2",
                                         "btlazy2", "btopt", "btultra", "btultra2", NULL};

void settings_read(struct settings *settings, int argc, char **argv) {
    *settings =
        (struct settings){.level = 3, .window_log = 20, .block_kb = 128, .threads = 1, .seed = 1};
    const struct option_row rows[] = {
        {"level", OPTION_INTEGER, &settings->level, "how hard zstd tries", 1, 19, NULL},
        {"window-log", OPTION_INTEGER, &settings->window_log,
         "how far back matches are, as a power of two of bytes", 10, 23, NULL},
        {"block-kb", OPTION_INTEGER, &settings->block_kb,
         "KiB that are compressed independently, a multiple of 4", 4, 4096, NULL},
        {"threads", OPTION_INTEGER, &settings->threads, "blocks at a time", 1, 64, NULL},
        {"strategy", OPTION_CHOICE, &settings->strategy, "how matches are looked for", 0, 0,
         strategies},
        {"long-distance", OPTION_BOOLEAN, &settings->long_distance,
         "long matches are looked for besides", 0, 0, NULL},
        {"dictionary", OPTION_BOOLEAN, &settings->dictionary,
         "blocks begin with what a dictionary knows", 0, 0, NULL},
        {"link-mb", OPTION_INTEGER, &settings->link_mb,
         "MB/s that the link for compressed blocks takes; 0: there is none", 0, 100000, NULL},
        {"seed", OPTION_INTEGER, &settings->seed, "of the journal", 0, INT64_MAX, NULL},
        {"seconds", OPTION_SECONDS, &settings->seconds, "to run; 0: until a signal", 0, 0, NULL},
    };
    options_read(summary, rows, sizeof(rows) / sizeof(*rows), argc, argv);
    if (settings->block_kb % 4)
        errx(2, "--block-kb: %lld is not a multiple of 4", (long long)settings->block_kb);
}
