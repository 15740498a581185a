/* SPDX-License-Identifier: MIT */
/* Characters of UTF-8 text, of which each takes a column of a terminal: wide ones are counted as
 * one, too. */
#ifndef SPEX_TEXT_CHARACTERS_H
#define SPEX_TEXT_CHARACTERS_H

#include <stddef.h>
#include <string.h>

static inline size_t spex_characters(const char *text) {
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

/* Bytes of the first so many characters, or of all. */
static inline size_t spex_characters_bytes(const char *text, size_t characters) {
    size_t bytes = 0;
    for (; text[bytes]; bytes++)
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && characters-- == 0)
            break;
    return bytes;
}

/* Has the text, which has room for it, end in an ellipsis after so many characters, at least 1, if
 * it has more. */
static inline void spex_characters_cut(char *text, size_t characters) {
    if (spex_characters(text) > characters)
        memcpy(text + spex_characters_bytes(text, characters - 1), "…", sizeof("…"));
}

#endif
