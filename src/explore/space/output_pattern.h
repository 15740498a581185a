/* SPDX-License-Identifier: MIT */
/* The regular expression by which a figure is found in a command's output. */
#ifndef SPEX_EXPLORE_SPACE_OUTPUT_PATTERN_H
#define SPEX_EXPLORE_SPACE_OUTPUT_PATTERN_H

#include <regex.h>

#include "text/error.h"

/* Compiles a POSIX extended regular expression that has one group, the figure's. 0; -EINVAL with
 * what is wrong in `error`; or -ENOMEM. */
int spex_output_pattern(regex_t *pattern, const char *text, struct spex_error *error);

#endif
