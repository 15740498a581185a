/* SPDX-License-Identifier: MIT */
/* Ranges of parameters on a command line: "n=1..65536,threads=1..16". */
#ifndef SPEX_TOOLS_COMMON_VALUE_RANGES_H
#define SPEX_TOOLS_COMMON_VALUE_RANGES_H

#include <stdbool.h>
#include <stddef.h>

enum { SPEX_VALUE_RANGES_MAX = 32 };

struct spex_value_range {
    const char *name;
    double low, high;
};

struct spex_value_ranges {
    struct spex_value_range items[SPEX_VALUE_RANGES_MAX];
    size_t count;
    /* The copy of the text into which the names point. */
    char *text;
};

/* Numbers are 0 or more. `origin`: the option, for the message. An exit status; to be freed in any
 * case. */
int spex_value_ranges_read(struct spex_value_ranges *ranges, const char *command,
                           const char *origin, const char *text);
void spex_value_ranges_free(struct spex_value_ranges *ranges);

/* The range of this name; NULL: there is none. */
const struct spex_value_range *spex_value_ranges_find(const struct spex_value_ranges *ranges,
                                                      const char *name);

#endif
