/* SPDX-License-Identifier: MIT */
/* Text that can be stored, compared by lines and shown on a terminal: UTF-8 without control
 * characters. */
#ifndef SPEX_TEXT_PRINTABLE_H
#define SPEX_TEXT_PRINTABLE_H

#include <stdbool.h>

bool spex_is_printable(const char *text);

/* Puts "?" in the place of every byte that is not. */
void spex_make_printable(char *text);

#endif
