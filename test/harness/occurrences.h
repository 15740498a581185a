/* SPDX-License-Identifier: MIT */
/* How often a text stands in another. */
#ifndef SPEX_TEST_OCCURRENCES_H
#define SPEX_TEST_OCCURRENCES_H

#include <stddef.h>
#include <string.h>

static inline size_t occurrences(const char *text, const char *of) {
    size_t count = 0;
    while ((text = strstr(text, of))) {
        count++;
        text += strlen(of);
    }
    return count;
}

#endif
