/* SPDX-License-Identifier: MIT */
/* Checks UTF-8 by the table of well-formed sequences, one character at a time. */
#include "text/printable.h"

#include <stddef.h>

/* Returns the bytes of the printable UTF-8 character at `text`; 0 when there is none. The forms are
 * those of table 3-7 of the Unicode standard without the control characters. Reads no byte behind
 * the 0 at the text's end, because a 0 fits no form. */
static size_t character_bytes(const char *text) {
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, bytes;
    } forms[] = {
        {0x20, 0x7e, 0x00, 0xff, 1}, {0xc2, 0xc2, 0xa0, 0xbf, 2}, {0xc3, 0xdf, 0x80, 0xbf, 2},
        {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
        {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
        {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    const unsigned char *byte = (const unsigned char *)text;
    size_t f = 0, count = sizeof(forms) / sizeof(forms[0]);
    while (f < count && (byte[0] < forms[f].first_low || byte[0] > forms[f].first_high))
        f++;
    if (f == count || byte[1] < forms[f].second_low || byte[1] > forms[f].second_high)
        return 0;
    for (size_t i = 2; i < forms[f].bytes; i++)
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    return forms[f].bytes;
}

bool spex_is_printable(const char *text) {
    size_t bytes = 1;
    for (; *text && bytes; text += bytes)
        bytes = character_bytes(text);
    return bytes > 0;
}

/* Replaces single bytes, so that the text does not become longer. */
void spex_make_printable(char *text) {
    while (*text) {
        size_t bytes = character_bytes(text);
        if (bytes == 0)
            *text = '?';
        text += bytes ? bytes : 1;
    }
}
