/* SPDX-License-Identifier: MIT */
/* Names of functions as people choose them. */
#ifndef SPEX_FUNCTIONS_FUNCTION_NAMES_H
#define SPEX_FUNCTIONS_FUNCTION_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* From a symbol's: without what compilers put behind a "." for their own versions of a function,
 * and of C++ the qualified name alone, with "." for "::" and "_" for what means something in a
 * selection or path. Cut where it does not fit. */
void spex_function_name(const char *symbol, char *name, size_t size);

/* Whether a list of globs and "GLOB@off", separated by commas, chooses this name: the last that
 * matches decides. */
bool spex_function_chosen(const char *filter, const char *name);

/* 0, or -EINVAL: `why` says which item is wrong. */
int spex_function_filter_check(const char *filter, char *why, size_t size);

#endif
