/* SPDX-License-Identifier: MIT */
/* Printable text: UTF-8 without control characters. It can be stored, be compared by lines, and be
 * shown on a terminal without effects there. */
#ifndef SPEX_TEXT_PRINTABLE_H
#define SPEX_TEXT_PRINTABLE_H

#include <stdbool.h>

/* Returns whether all of the text is printable. */
bool spex_is_printable(const char *text);

/* Replaces every byte that does not belong to a printable character by "?". */
void spex_make_printable(char *text);

#endif
