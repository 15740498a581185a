/* SPDX-License-Identifier: MIT */
/* What sizes programs ask for. Three mixes: "small" is a server's objects and strings, "mixed" has
 * buffers of kilobytes besides, "large" some of up to a megabyte. */
#ifndef ALLOCATE_SIZES_H
#define ALLOCATE_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mix { MIX_SMALL, MIX_MIXED, MIX_LARGE };

struct request {
    size_t size;
    bool zeroed; /* a table of which little is used: calloc, and few of its pages are touched */
};

extern const char *const mix_names[]; /* ends with NULL */

struct request sizes_next(enum mix mix, uint64_t *random);

#endif
