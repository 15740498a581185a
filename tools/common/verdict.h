/* SPDX-License-Identifier: MIT */
/* What a command says on standard error when its work is done: the result, and what its user may do
 * next. */
#ifndef SPEX_TOOLS_COMMON_VERDICT_H
#define SPEX_TOOLS_COMMON_VERDICT_H

#include <stddef.h>

/* Writes "spex: RESULT". Where standard error is a terminal, also "next: NEXT", unless it is NULL,
 * and lines fit its width. Otherwise the result is one line, for logs and scripts. */
void spex_verdict(const char *result, const char *next);

/* Writes for how long a command has worked: "3.2 s", "12:05", "1:02:05". Returns `text`. */
const char *spex_elapsed_text(double seconds, char *text, size_t size);

#endif
