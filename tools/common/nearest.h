/* SPDX-License-Identifier: MIT */
/* Which of several words was meant by one that is none of them. */
#ifndef SPEX_TOOLS_COMMON_NEAREST_H
#define SPEX_TOOLS_COMMON_NEAREST_H

#include <stddef.h>

struct spex_nearest {
    const char *typed;
    /* NULL: no word is like it. */
    const char *found;
    size_t distance;
};

struct spex_nearest spex_nearest_to(const char *typed);

/* Looks at one of the words, which stays where it is. */
void spex_nearest_look(struct spex_nearest *nearest, const char *word);

#endif
