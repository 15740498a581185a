/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "trace/trace_limits.h"

#include <stdlib.h>
#include <string.h>

#include "text/number.h"

/* Less would hold hardly more than what is written at once. */
#define KEEP_LEAST (UINT64_C(1) << 20)

/* Sizes are shorter than 2 to this. */
enum { SIZE_BITS = 60 };

bool spex_size_parse(const char *text, uint64_t *bytes) {
    static const char units[] = "\0kMGT";
    char *unit;
    *bytes = *text >= '0' && *text <= '9' ? strtoull(text, &unit, 10) : 0;
    if (!*bytes || (*unit && unit[1]))
        return false;
    const char *known = memchr(units, *unit == 'K' ? 'k' : *unit, sizeof(units) - 1);
    unsigned shift = known ? 10 * (unsigned)(known - units) : SIZE_BITS;
    bool fits = *bytes >> (SIZE_BITS - shift) == 0;
    *bytes <<= shift;
    return fits;
}

bool spex_seconds_parse(const char *text, double *seconds) {
    char number[16];
    size_t length = strlen(text);
    if (length < 2 || length > sizeof(number) || text[length - 1] != 's')
        return false;
    memcpy(number, text, length - 1);
    number[length - 1] = '\0';
    return spex_number_seconds(number, seconds) && *seconds >= 1;
}

bool spex_trace_keep_parse(const char *text, struct spex_trace_limits *limits) {
    return spex_size_parse(text, &limits->keep) && limits->keep >= KEEP_LEAST;
}

bool spex_trace_rotate_parse(const char *text, struct spex_trace_limits *limits) {
    return spex_seconds_parse(text, &limits->rotate_seconds) ||
           spex_size_parse(text, &limits->rotate_bytes);
}

const char *spex_trace_limits_take(char *text, struct spex_trace_limits *limits) {
    strsep(&text, ",");
    for (const char *limit; (limit = strsep(&text, ","));) {
        if (strncmp(limit, "keep=", 5) == 0) {
            if (!spex_trace_keep_parse(limit + 5, limits))
                return "keep: " SPEX_TRACE_KEEP_EXPECTED;
        } else if (strncmp(limit, "rotate=", 7) != 0) {
            return "keep= or rotate= was expected behind the folder";
        } else if (!spex_trace_rotate_parse(limit + 7, limits)) {
            return "rotate: " SPEX_TRACE_ROTATE_EXPECTED;
        }
    }
    return NULL;
}
