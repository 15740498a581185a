/* SPDX-License-Identifier: MIT */
/* The first instructions of a function in whose place a jump of 5 bytes can be, if they are moved elsewhere. */
#ifndef SPEX_ATTACH_PATCHABLE_H
#define SPEX_ATTACH_PATCHABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the jump, and of instructions that it is in the place of: of these the last may begin with the jump's last byte. */
enum { SPEX_PATCH_BYTES = 5, SPEX_MOVED_BYTES_MAX = 19 };

struct spex_patchable {
    /* NULL, or why there can be no jump. */
    const char *refused;
    /* Behind an endbr64, which stays. */
    uint64_t address;
    unsigned bytes;
    /* One of them may fault. */
    bool may_fault;
};

/* Finds those of a function, by its code and its address. What leads there is not looked at. */
void spex_patchable_find(const uint8_t *code, size_t size, uint64_t address,
                         struct spex_patchable *patchable);

/* Writes these instructions, as they are to be at another address. False: what they have in memory is too far from there. */
bool spex_patchable_move(const uint8_t *code, size_t bytes, uint64_t from, uint64_t to,
                         uint8_t *moved);

#endif
