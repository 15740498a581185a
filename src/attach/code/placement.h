/* SPDX-License-Identifier: MIT */
/* Where in a function breakpoints can be: one that is executed once each time the function is called,
 * and those at all its ends. The function's code tells: all its branches are followed. */
#ifndef SPEX_ATTACH_PLACEMENT_H
#define SPEX_ATTACH_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/code/hit.h"
#include "attach/code/patchable.h"

/* A part of an object's code, at its address there. */
struct spex_code {
    const uint8_t *bytes;
    uint64_t address;
    size_t size;
};

/* What is at an address that a function jumps to, outside of it. */
enum spex_beyond {
    /* It cannot be told. */
    SPEX_BEYOND_UNKNOWN,
    /* A function begins there. */
    SPEX_BEYOND_FUNCTION,
    /* A part of the same function, which the compiler has put elsewhere. */
    SPEX_BEYOND_PART
};

/* A function, and what its object tells of the rest. */
struct spex_function_code {
    struct spex_code code;
    /* The end of the function is known: nothing behind it belongs to it. */
    bool bounded;
    void *user;
    /* Sets `part` where a part of the function is there. */
    enum spex_beyond (*beyond)(void *user, uint64_t address, struct spex_code *part);
    /* Whether other code of the object may jump to an address above `from`, up to `to`. */
    bool (*reached)(void *user, uint64_t from, uint64_t to);
};

struct spex_place {
    uint64_t address;
    enum spex_hit hit;
    /* The stack pointer there is so much below that at the function's first instruction. */
    int64_t sunk;
    /* The registers of arguments that are written before it, as bits by their places. */
    uint8_t written;
};

enum { SPEX_ENDS_MAX = 64 };

struct spex_placement {
    /* NULL, or why there is no place for an entry. */
    const char *refused;
    struct spex_place entry;
    /* What a breakpoint there would be, where slots or a patch count. */
    enum spex_hit breakpoint;
    /* The first instruction. */
    struct spex_place first;
    /* The same where the ends are looked at, too: it is none of these. */
    struct spex_place begin;
    /* Where a jump can be at its beginning. */
    struct spex_patchable patch;
    /* Why the entry is there, and not at an instruction that costs less; "": nothing is to be said. */
    const char *why;
    /* NULL, or why the ends are not known. */
    const char *endless;
    unsigned end_count;
    struct spex_place ends[SPEX_ENDS_MAX];
};

/* Has arguments still in their registers where the entry is: by the first instruction, if need be. */
void spex_place_for_arguments(struct spex_placement *placement, uint8_t places);

void spex_place(const struct spex_function_code *function, struct spex_placement *placement);

#endif
