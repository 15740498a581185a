/* SPDX-License-Identifier: MIT */
/* A text that grows by what is printed to it, in the library's own memory, where a stream would have
 * the C library allocate. */
#ifndef SPEX_BASE_GROWING_TEXT_H
#define SPEX_BASE_GROWING_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/memory/memory.h"

/* Begins as zeros; `text` is given back by spex_free. */
struct spex_growing_text {
    char *text;
    size_t length, room;
    /* There was no memory for all of it. */
    bool failed;
};

static inline bool spex_growing_room(struct spex_growing_text *to, size_t more) {
    size_t room = to->room ? to->room : 512;
    if (to->failed)
        return false;
    while (room < to->length + more)
        room *= 2;
    if (room == to->room)
        return true;
    char *text = spex_realloc(to->text, room);
    to->failed = !text;
    if (to->failed)
        return false;
    to->text = text;
    to->room = room;
    return true;
}

/* As fprintf. */
__attribute__((format(printf, 2, 3))) static inline void spex_growing_print(
    struct spex_growing_text *to, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0)
        to->failed = true;
    else if (spex_growing_room(to, (size_t)length + 1))
        to->length += (size_t)vsnprintf(to->text + to->length, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
}

/* As it stands between quotes. */
static inline void spex_growing_quoted(struct spex_growing_text *to, const char *text) {
    for (; *text; text++)
        spex_growing_print(to, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

#endif
