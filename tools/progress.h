/* SPDX-License-Identifier: MIT */
/* The progress bar of an exploration: on a terminal one line that changes, elsewhere a line now and
 * then. */
#ifndef SPEX_PROGRESS_H
#define SPEX_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <spex/explore.h>

struct spex_progress_bar {
    FILE *out;
    bool terminal;
    bool shown;           /* a bar is on the terminal's current line */
    unsigned long failed; /* failures told so far */
    struct timespec last; /* when the last line was written, elsewhere than on a terminal */
};

void spex_progress_bar_init(struct spex_progress_bar *bar, FILE *out);

/* For struct spex_explore_options; `user` is the bar. */
void spex_progress_bar_show(void *user, const struct spex_progress *progress);

/* Leaves the terminal's line. */
void spex_progress_bar_end(struct spex_progress_bar *bar);

#endif
