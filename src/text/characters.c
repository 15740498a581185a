/* SPDX-License-Identifier: MIT */
/* Widths are those of scripts and blocks, as Unicode's UAX 11 has them; a program's locale, which
 * wcwidth needs, is not ours to set. */
#include "text/characters.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct range {
    uint32_t first, last;
};

/* East Asian scripts, their punctuation and full-width forms, pictographs. */
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97c},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6b},
    {0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x1b2ff}, {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

/* Accents and selectors that go with the character before them, and marks that are not seen. */
static const struct range narrow[] = {
    {0x300, 0x36f},   {0x1160, 0x11ff}, {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x206f},
    {0x20d0, 0x20f0}, {0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
};

static bool is_in(const struct range *ranges, size_t count, uint32_t code) {
    size_t r = 0;
    while (r < count && code > ranges[r].last)
        r++;
    return r < count && code >= ranges[r].first;
}

/* The first character and its bytes: those up to the next byte that begins one. */
static uint32_t next(const char *text, size_t *bytes) {
    unsigned char first = (unsigned char)*text;
    uint32_t code = first < 0xc0 ? first : first < 0xe0 ? first & 0x1f : first & 0x0f;
    for (*bytes = 1; ((unsigned char)text[*bytes] & 0xc0) == 0x80; ++*bytes)
        code = code << 6 | ((unsigned char)text[*bytes] & 0x3f);
    return code;
}

static unsigned columns_of(uint32_t code) {
    if (code < narrow[0].first || is_in(narrow, sizeof(narrow) / sizeof(*narrow), code))
        return code < narrow[0].first;
    return is_in(wide, sizeof(wide) / sizeof(*wide), code) ? 2 : 1;
}

size_t spex_characters(const char *text) {
    size_t columns = 0, bytes;
    for (; *text; text += bytes)
        columns += columns_of(next(text, &bytes));
    return columns;
}

size_t spex_characters_bytes(const char *text, size_t columns) {
    size_t all = 0, bytes;
    while (text[all]) {
        unsigned own = columns_of(next(&text[all], &bytes));
        if (own > columns)
            break;
        columns -= own;
        all += bytes;
    }
    return all;
}

void spex_characters_cut(char *text, size_t columns) {
    if (spex_characters(text) > columns)
        memcpy(text + spex_characters_bytes(text, columns - 1), "…", sizeof("…"));
}
