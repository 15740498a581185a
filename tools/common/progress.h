/* SPDX-License-Identifier: MIT */
/* The progress of an exploration, or of other long work: on a terminal one line that is redrawn,
 * elsewhere a line every few seconds. */
#ifndef SPEX_TOOLS_COMMON_PROGRESS_H
#define SPEX_TOOLS_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
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
    /* When the last line was written, and when the work began. */
    struct timespec last, begun;
};

void spex_progress_bar_init(struct spex_progress_bar *bar, FILE *out);

/* For struct spex_explore_options; `user` is the bar. */
void spex_progress_bar_show(void *user, const struct spex_progress *progress);

/* Other long work has a line on a terminal, and nothing elsewhere. Whether it is to be drawn again:
 * not in the first second, as most work is done by then, and ten times a second at most. *seconds:
 * for how long the work has gone on. */
bool spex_progress_bar_is_due(struct spex_progress_bar *bar, double *seconds);

/* Work of which `done` of `all` is done; may be called at any time. */
void spex_progress_bar_part(struct spex_progress_bar *bar, uint64_t done, uint64_t all);

/* Work whose end is not known; `text` says how far it is. */
void spex_progress_bar_text(struct spex_progress_bar *bar, const char *text);

/* Removes the bar, so that other output begins where it was. It may be drawn again. */
void spex_progress_bar_end(struct spex_progress_bar *bar);

#endif
