/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include <malloc.h>
#include <stddef.h>

#include "options.h"
#include "sizes.h"

static const char summary[] =
    "usage: allocate [OPTION]...\n"
    "Threads that allocate and free memory, of their own and of each other, until SIGTERM or\n"
    "SIGINT.\n\n";

void settings_read(struct settings *settings, int argc, char **argv) {
    *settings = (struct settings){.threads = 2,
                                  .arenas = -1,
                                  .mmap_threshold = -1,
                                  .trim_threshold = -1,
                                  .top_pad = -1,
                                  .batch = 32,
                                  .remote = 5,
                                  .mix = MIX_LARGE,
                                  .seed = 1};
    const struct option_row rows[] = {
        {"threads", OPTION_INTEGER, &settings->threads, "that allocate", 1, 64, NULL},
        {"arenas", OPTION_INTEGER, &settings->arenas, "heaps at most; -1: glibc's own choice", -1,
         1024, NULL},
        {"mmap-threshold-kb", OPTION_INTEGER, &settings->mmap_threshold,
         "what is larger has a mapping of its own; -1: glibc's own choice", -1, 32768, NULL},
        {"trim-threshold-kb", OPTION_INTEGER, &settings->trim_threshold,
         "of more at a heap's end the rest is given back; -1: glibc's own choice", -1, 1 << 20,
         NULL},
        {"top-pad-kb", OPTION_INTEGER, &settings->top_pad,
         "by which a heap grows too much; -1: glibc's own choice", -1, 32768, NULL},
        {"batch", OPTION_INTEGER, &settings->batch, "objects that a thread hands over at a time", 1,
         4096, NULL},
        {"remote", OPTION_INTEGER, &settings->remote,
         "of 100 objects, those that another thread frees", 0, 100, NULL},
        {"mix", OPTION_CHOICE, &settings->mix, "sizes of objects", 0, 0, mix_names},
        {"seed", OPTION_INTEGER, &settings->seed, "of sizes and lives", 0, INT64_MAX, NULL},
        {"seconds", OPTION_SECONDS, &settings->seconds, "to run; 0: until a signal", 0, 0, NULL},
    };
    options_read(summary, rows, sizeof(rows) / sizeof(*rows), argc, argv);
}

/* It refuses thresholds of more than half of a heap only, which are more than the options allow. */
static void apply(int parameter, int64_t value, int unit) {
    if (value >= 0)
        (void)mallopt(parameter, (int)(value * unit));
}

void settings_apply(const struct settings *settings) {
    apply(M_ARENA_MAX, settings->arenas, 1);
    apply(M_MMAP_THRESHOLD, settings->mmap_threshold, 1024);
    apply(M_TRIM_THRESHOLD, settings->trim_threshold, 1024);
    apply(M_TOP_PAD, settings->top_pad, 1024);
}
