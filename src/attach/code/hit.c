/* SPDX-License-Identifier: MIT */
/* As arch/x86/kernel/uprobes.c of Linux decides: branch_setup_xol_ops and push_setup_xol_ops. A prefix
 * in front of a jump may make it another instruction, so that only push may have one (REX.B). */
#include "attach/code/hit.h"

#include <string.h>

const char *spex_hit_name(enum spex_hit hit) {
    static const char *const names[SPEX_HITS] = {"stepped", "nop",      "push", "jump", "branch",
                                                 "call",    "long nop", "none", "slot", "patch"};
    return names[hit];
}

#ifdef __x86_64__

/* push %rax to %rdi; push %r8 to %r15 have a prefix. */
static bool is_push(const uint8_t *code, size_t bytes) {
    if (bytes > 1 && code[0] == 0x41)
        code++;
    return (code[0] & 0xf8) == 0x50;
}

static bool is_branch(const uint8_t *code, size_t bytes) {
    return (code[0] & 0xf0) == 0x70 || (bytes > 1 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80);
}

/* lock, and segments but %fs and %gs; other prefixes may stand before it. */
static bool is_refused(const uint8_t *code, size_t bytes) {
    static const uint8_t refused[] = {0xf0, 0x26, 0x2e, 0x36, 0x3e};
    static const uint8_t passed[] = {0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3};
    for (size_t b = 0; b < bytes; b++) {
        if (memchr(refused, code[b], sizeof(refused)))
            return true;
        if (!memchr(passed, code[b], sizeof(passed)))
            return false;
    }
    return true;
}

enum spex_hit spex_hit_of(const uint8_t *code, size_t bytes) {
    static const uint8_t long_nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
    if (is_refused(code, bytes))
        return SPEX_HIT_NONE;
    if (bytes >= sizeof(long_nop) && memcmp(code, long_nop, sizeof(long_nop)) == 0)
        return SPEX_HIT_LONG_NOP;
    if (is_push(code, bytes))
        return SPEX_HIT_PUSH;
    if (is_branch(code, bytes))
        return SPEX_HIT_BRANCH;
    switch (code[0]) {
    case 0x90:
        return SPEX_HIT_NOP;
    case 0xe8:
        return SPEX_HIT_CALL;
    case 0xe9:
    case 0xeb:
        return SPEX_HIT_JUMP;
    default:
        return SPEX_HIT_STEPPED;
    }
}

bool spex_is_nop(const uint8_t *code, size_t bytes) {
    enum spex_hit hit = bytes ? spex_hit_of(code, bytes) : SPEX_HIT_NONE;
    return hit == SPEX_HIT_NOP || hit == SPEX_HIT_LONG_NOP;
}

#else

enum spex_hit spex_hit_of(const uint8_t *code, size_t bytes) {
    (void)code;
    (void)bytes;
    return SPEX_HIT_STEPPED;
}

bool spex_is_nop(const uint8_t *code, size_t bytes) {
    static const uint8_t nop[] = {0x1f, 0x20, 0x03, 0xd5};
    return bytes >= sizeof(nop) && memcmp(code, nop, sizeof(nop)) == 0;
}

#endif
