/* SPDX-License-Identifier: MIT */
/* The progress of an exploration: on a terminal one line that is redrawn, elsewhere a line every
 * few seconds. */
#ifndef SPEX_TOOLS_COMMON_PROGRESS_H
#define SPEX_TOOLS_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <spex/explore.h>

struct spex_progress_bar {
    FILE *out;
    bool terminal;
    /* The bar is on the terminal's current line. */
    bool shown;
    /* Failures that were reported so far. */
    unsigned long failed;
    /* When the last line was written, where there is no terminal. */
    struct timespec last;
};

void spex_progress_bar_init(struct spex_progress_bar *bar, FILE *out);

/* For struct spex_explore_options; `user` is the bar. */
void spex_progress_bar_show(void *user, const struct spex_progress *progress);

/* Ends the bar's line, so that other output begins on a line of its own. */
void spex_progress_bar_end(struct spex_progress_bar *bar);

#endif
