/* SPDX-License-Identifier: MIT */
/* Decodes instructions of x86-64, as far as it matters where a probe can be. It needs libzydis; without
 * it, and for other processors, nothing can be decoded. */
#ifndef SPEX_ATTACH_DECODE_H
#define SPEX_ATTACH_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is executed next. */
enum spex_flow {
    /* The instruction behind it. */
    SPEX_FLOW_ON,
    /* A function, and then the instruction behind it. */
    SPEX_FLOW_CALL,
    SPEX_FLOW_RETURN,
    /* Always, or sometimes, what stands at `target`. */
    SPEX_FLOW_JUMP,
    SPEX_FLOW_BRANCH,
    /* What a pointer at a fixed address points to: another function. */
    SPEX_FLOW_JUMP_POINTER,
    /* Code of the same function: a jump that indirect branch tracking leaves out (notrack). */
    SPEX_FLOW_JUMP_TABLE,
    /* It cannot be told. */
    SPEX_FLOW_JUMP_ANYWHERE,
    /* Nothing: it ends the program. */
    SPEX_FLOW_STOP
};

struct spex_instruction {
    unsigned bytes;
    enum spex_flow flow;
    uint64_t target;
    /* By how much it lowers the stack pointer, apart from a call, and whether that is known. */
    bool sinks_known;
    int64_t sinks;
    /* The registers of arguments that it writes, as bits by their places. */
    uint8_t writes;
    /* It does the same elsewhere, if a distance of 4 bytes is changed, from its end to what it has in memory. Where that is in
     * it; 0: it has none. */
    bool movable;
    unsigned distance_at;
    /* It reads or writes memory at an address that a program may have wrong: a handler of signals may look at where it was. */
    bool may_fault;
};

bool spex_can_decode(void);

/* Decodes the instruction at `address`, which these bytes begin with. False: it is none, or not known. */
bool spex_decode(const uint8_t *code, size_t bytes, uint64_t address,
                 struct spex_instruction *instruction);

#endif
