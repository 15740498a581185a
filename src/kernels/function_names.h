/* SPDX-License-Identifier: MIT */
/* Names of functions as people write them in selections. */
#ifndef SPEX_KERNELS_FUNCTION_NAMES_H
#define SPEX_KERNELS_FUNCTION_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "text/error.h"

/* Makes a function's name of a symbol's. What follows a "." is left out: compilers mark their own
 * versions of a function by it. A C++ symbol becomes the qualified name without types and template
 * arguments, with "." for "::" and "_" for characters that have a meaning in selections or paths.
 * Cut to `size`. */
void spex_function_name(const char *symbol, char *name, size_t size);

/* Whether a list of globs and "GLOB@off", separated by commas, chooses this name. The last item
 * that matches decides. */
bool spex_function_chosen(const char *filter, const char *name);

/* 0, or -EINVAL with the wrong item in `error`. */
int spex_function_filter_check(const char *filter, struct spex_error *error);

#endif
