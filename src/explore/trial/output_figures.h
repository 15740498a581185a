/* SPDX-License-Identifier: MIT */
/* Figures that a command prints: the last match of a regular expression in its lines, a number in
 * the JSON that its output is, or the last number. What is kept of an output is bounded. */
#ifndef SPEX_EXPLORE_TRIAL_OUTPUT_FIGURES_H
#define SPEX_EXPLORE_TRIAL_OUTPUT_FIGURES_H

#include <spex/policy.h>

#include "text/error.h"

/* Of a longer line the rest is not looked at; a longer document has no figure. */
enum { SPEX_OUTPUT_LINE_BYTES = 16384, SPEX_OUTPUT_JSON_BYTES = 4 << 20 };

struct spex_output_figures;

/* For the criteria of the space. 0 or a negative errno value with `error`. */
int spex_output_figures_open(const struct spex_space *space, struct spex_output_figures **out,
                             struct spex_error *error);
void spex_output_figures_close(struct spex_output_figures *figures);

/* Takes a part of the output; `user` is the figures. */
void spex_output_figures_add(void *user, const char *text, size_t length);

/* No more output follows: sets the values of the criteria that are from the output. 0; -ENODATA with
 * what was expected in `error`; or -ENOMEM. */
int spex_output_figures_end(struct spex_output_figures *figures, struct spex_measured *measured,
                            struct spex_error *error);

/* The end of an output, and the last number in it. */
struct spex_output_end {
    size_t length;
    char text[512];
};

/* `user` is a struct spex_output_end, zeroed before. */
void spex_output_end_add(void *user, const char *text, size_t length);

/* The last number that is no part of a word. False: there is none. */
bool spex_output_end_number(const struct spex_output_end *end, double *number);

#endif
