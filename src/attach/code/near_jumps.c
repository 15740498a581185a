/* SPDX-License-Identifier: MIT */
#include "attach/code/near_jumps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a displacement. */
enum { DISPLACEMENT = 4 };

/* The bytes of the opcode of a near jump or branch of x86-64 at `at`; 0: there is none. */
static size_t opcode_bytes(const struct spex_code *text, size_t at) {
    const uint8_t *code = text->bytes + at;
    size_t left = text->size - at;
    if (left > DISPLACEMENT && code[0] == 0xe9)
        return 1;
    if (left > DISPLACEMENT + 1 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80)
        return 2;
    return 0;
}

/* Passes all targets within the text; counts them where there is no room. */
static size_t collect(const struct spex_code *text, uint64_t *targets) {
    size_t count = 0;
    for (size_t at = 0; at < text->size; at++) {
        size_t opcode = opcode_bytes(text, at);
        int32_t displacement;
        if (!opcode)
            continue;
        memcpy(&displacement, text->bytes + at + opcode, DISPLACEMENT);
        uint64_t target =
            text->address + at + opcode + DISPLACEMENT + (uint64_t)(int64_t)displacement;
        if (target - text->address >= text->size)
            continue;
        if (targets)
            targets[count] = target;
        count++;
    }
    return count;
}

static int by_address(const void *a, const void *b) {
    const uint64_t *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

int spex_near_jumps_find(struct spex_near_jumps *jumps, const struct spex_code *text) {
    size_t count = collect(text, NULL);
    *jumps = (struct spex_near_jumps){.targets = malloc((count + 1) * sizeof(uint64_t))};
    if (!jumps->targets)
        return -ENOMEM;
    jumps->count = collect(text, jumps->targets);
    qsort(jumps->targets, jumps->count, sizeof(uint64_t), by_address);
    return 0;
}

void spex_near_jumps_free(struct spex_near_jumps *jumps) {
    free(jumps->targets);
    *jumps = (struct spex_near_jumps){.targets = NULL};
}

bool spex_near_jumps_reach(const struct spex_near_jumps *jumps, uint64_t from, uint64_t to) {
    size_t low = 0, high = jumps->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (jumps->targets[middle] > from)
            high = middle;
        else
            low = middle + 1;
    }
    return low < jumps->count && jumps->targets[low] <= to;
}
