/* SPDX-License-Identifier: MIT */
/* Code that counts an execution of a function, executes its first instructions, and goes on behind them: a trampoline. The
 * function begins with a jump to it. All registers and flags are as they were.
 *
 * A region (slots/region.h) has a page of them, with a word each in the gate, which is 0 where nothing is to be counted, and
 * a page of counters each. */
#ifndef SPEX_ATTACH_PATCHES_TRAMPOLINE_H
#define SPEX_ATTACH_PATCHES_TRAMPOLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/code/patchable.h"
#include "attach/slots/stub.h"

enum { SPEX_TRAMPOLINE_BYTES = 128, SPEX_TRAMPOLINES = SPEX_STUB_PAGE / SPEX_TRAMPOLINE_BYTES - 1 };

/* The instructions that are moved. */
struct spex_moved {
    uint64_t address;
    unsigned bytes;
    uint8_t before[SPEX_MOVED_BYTES_MAX];
};

/* Where one is in a region, by its number; and the rest of it. */
static inline uint64_t spex_trampoline_at(uint64_t code, unsigned number) {
    return code + (uint64_t)number * SPEX_TRAMPOLINE_BYTES;
}

static inline uint64_t spex_trampoline_gate(uint64_t code, unsigned number) {
    return spex_stub_gate(code) + (uint64_t)number * sizeof(uint64_t);
}

static inline uint64_t spex_trampoline_counters(uint64_t code, unsigned number) {
    return spex_stub_counters(code) + (uint64_t)number * SPEX_STUB_PAGE;
}

/* Behind the last one of a page is the code of slots/unfinished.h. */
static inline uint64_t spex_trampoline_unfinished(uint64_t code) {
    return spex_trampoline_at(code, SPEX_TRAMPOLINES);
}

/* False: it would be too far from the function, or from what these instructions have in memory. */
bool spex_trampoline_write(uint64_t code, unsigned number, const struct spex_moved *moved,
                           uint8_t bytes[SPEX_TRAMPOLINE_BYTES]);

/* Reads what one moves. False: it is none that was written here, at this address. */
bool spex_trampoline_read(uint64_t code, unsigned number,
                          const uint8_t bytes[SPEX_TRAMPOLINE_BYTES], struct spex_moved *moved);

/* What nothing has been written to. */
bool spex_trampoline_is_free(const uint8_t bytes[SPEX_TRAMPOLINE_BYTES]);

/* The jump to one. */
void spex_trampoline_jump(uint64_t from, uint64_t to, uint8_t bytes[SPEX_PATCH_BYTES]);

/* A function of this process that does nothing, and the same with a trampoline. What is mapped stays. False: there is none. */
bool spex_trampoline_here(void (**plain)(void), void (**patched)(void));

#endif
