/* SPDX-License-Identifier: MIT */
/* Figures told as lines of a text, which is then compared with what is expected. */
#ifndef SPEX_TEST_TOLD_TEXT_H
#define SPEX_TEST_TOLD_TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../check.h"

static struct {
    char text[65536];
    size_t length;
} told;

static inline void told_clear(void) {
    told.length = 0;
    told.text[0] = '\0';
}

__attribute__((format(printf, 1, 2))) static inline void tell(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    told.length += (size_t)vsnprintf(told.text + told.length, sizeof(told.text) - told.length,
                                     format, arguments);
    va_end(arguments);
    assert_true(told.length < sizeof(told.text));
}

/* Fails with the first line that is another one. Returns what is told behind these lines. */
static inline const char *told_lines(const char *got, const char *expected) {
    while (*expected) {
        size_t got_size = strcspn(got, "\n"), size = strcspn(expected, "\n");
        if (!*got || got_size != size || memcmp(got, expected, size) != 0)
            fail_msg("\"%.*s\" and not \"%.*s\"", (int)got_size, got, (int)size, expected);
        got += size + 1;
        expected += size + 1;
    }
    return got;
}

/* The same of all that is told. */
static inline void told_is(const char *expected) {
    assert_string_equal(told_lines(told.text, expected), "");
}

#endif
