/* SPDX-License-Identifier: MIT */
#include "attach/code/patchable.h"

#include <string.h>

#include "attach/code/decode.h"

/* The kernel writes within a page at once. */
enum { PAGE = 4096 };

static size_t bytes_of_landing(const uint8_t *code, size_t size) {
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    return size >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64)
                                                                                  : 0;
}

static const char *why_not(const uint8_t *code, size_t size, struct spex_patchable *patchable) {
    while (patchable->bytes < SPEX_PATCH_BYTES) {
        struct spex_instruction instruction;
        unsigned at = patchable->bytes;
        if (at == size)
            return "it is too short for a jump";
        if (!spex_decode(code + at, size - at, patchable->address + at, &instruction))
            return "its first instructions cannot be decoded";
        if (!instruction.movable)
            return "one of its first instructions cannot be moved";
        patchable->bytes += instruction.bytes;
        patchable->may_fault |= instruction.may_fault;
    }
    if (patchable->address % PAGE > PAGE - SPEX_PATCH_BYTES)
        return "its first instructions are in two pages";
    return NULL;
}

void spex_patchable_find(const uint8_t *code, size_t size, uint64_t address,
                         struct spex_patchable *patchable) {
    size_t landing = bytes_of_landing(code, size);
    *patchable = (struct spex_patchable){.address = address + landing};
    patchable->refused = spex_can_decode() ? why_not(code + landing, size - landing, patchable)
                                           : "this spex decodes no instructions";
}

bool spex_patchable_move(const uint8_t *code, size_t bytes, uint64_t from, uint64_t to,
                         uint8_t *moved) {
    memcpy(moved, code, bytes);
    for (size_t at = 0; at < bytes;) {
        struct spex_instruction instruction;
        if (!spex_decode(code + at, bytes - at, from + at, &instruction) || !instruction.movable)
            return false;
        if (instruction.distance_at) {
            int32_t distance;
            uint8_t *there = moved + at + instruction.distance_at;
            memcpy(&distance, there, sizeof(distance));
            int64_t wanted = (int64_t)(from - to) + distance;
            if (wanted < INT32_MIN || wanted > INT32_MAX)
                return false;
            distance = (int32_t)wanted;
            memcpy(there, &distance, sizeof(distance));
        }
        at += instruction.bytes;
    }
    return true;
}
