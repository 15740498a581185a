/* SPDX-License-Identifier: MIT */
/* What the kernel does after a hit of a breakpoint, to go on behind it. It emulates some instructions.
 * All others it executes elsewhere, one step, with a second trap: about ten times the cost. */
#ifndef SPEX_ATTACH_HIT_H
#define SPEX_ATTACH_HIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spex_hit {
    SPEX_HIT_STEPPED,
    /* Emulated: one byte of nop, push of a register, jumps and calls to an address that the
     * instruction has. */
    SPEX_HIT_NOP,
    SPEX_HIT_PUSH,
    SPEX_HIT_JUMP,
    SPEX_HIT_BRANCH,
    SPEX_HIT_CALL,
    /* A nop of five bytes. Kernels from 6.18 on make it a call, which writes below the stack pointer:
     * it is safe as the first instruction of a function only. */
    SPEX_HIT_LONG_NOP,
    /* There can be no breakpoint: it has a lock, or another prefix that the kernel refuses. */
    SPEX_HIT_NONE,
    /* No breakpoint: calls go through a slot to a stub. */
    SPEX_HIT_SLOT,
    /* Nor is this: a jump to a trampoline is in the place of the first instructions. */
    SPEX_HIT_PATCH,
    SPEX_HITS
};

/* Of the instruction that these bytes begin with. What is not known for sure is stepped. */
enum spex_hit spex_hit_of(const uint8_t *code, size_t bytes);

/* Whether they begin with an instruction that does nothing, as the sites of USDT probes do. */
bool spex_is_nop(const uint8_t *code, size_t bytes);

/* Whether it is emulated by all kernels that spex runs on. */
static inline bool spex_hit_is_cheap(enum spex_hit hit) {
    return hit != SPEX_HIT_STEPPED && hit != SPEX_HIT_LONG_NOP && hit != SPEX_HIT_NONE;
}

/* "stepped", "nop", "push", … */
const char *spex_hit_name(enum spex_hit hit);

#endif
