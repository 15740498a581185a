/* SPDX-License-Identifier: MIT */
/* Where an object's code may jump to with a displacement of 32 bits: from one function into another, or
 * back from a part that the compiler has put elsewhere. Each byte may begin a jump, so that there are
 * more of them than there are. */
#ifndef SPEX_ATTACH_NEAR_JUMPS_H
#define SPEX_ATTACH_NEAR_JUMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/code/placement.h"

struct spex_near_jumps {
    /* In ascending order. */
    uint64_t *targets;
    size_t count;
};

/* 0 or -ENOMEM. */
int spex_near_jumps_find(struct spex_near_jumps *jumps, const struct spex_code *text);
void spex_near_jumps_free(struct spex_near_jumps *jumps);

/* Whether there is one to an address above `from`, up to `to`. */
bool spex_near_jumps_reach(const struct spex_near_jumps *jumps, uint64_t from, uint64_t to);

#endif
