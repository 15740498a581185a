/* SPDX-License-Identifier: MIT */
/* The columns of a terminal that printable UTF-8 text takes: wide characters (Chinese, emoji) take
 * two, and accents that are combined with the character before them none. */
#ifndef SPEX_TEXT_CHARACTERS_H
#define SPEX_TEXT_CHARACTERS_H

#include <stddef.h>

size_t spex_characters(const char *text);

/* Bytes of the first characters, as many as fit into so many columns. */
size_t spex_characters_bytes(const char *text, size_t columns);

/* Has the text, which has room for it, end in an ellipsis after so many columns, at least 1, if it
 * has more. */
void spex_characters_cut(char *text, size_t columns);

#endif
