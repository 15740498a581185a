/* SPDX-License-Identifier: MIT */
/* Instrumented functions are recognised by a direct call of the hook in their code. Each processor
 * encodes the distance to the target in the call instruction. */
#include "kernels/function_calls.h"

#include <string.h>

#if defined(__x86_64__)

/* CALL rel32 (0xe8): the distance counts from the end of the instruction. The search goes byte by
 * byte and does not decode instructions. Other bytes that look like a call have one chance in 2^32
 * of the target's distance. */
bool spex_function_calls(const unsigned char *code, size_t bytes, uintptr_t target) {
    enum { CALL = 0xe8, LENGTH = 5 };
    const unsigned char *end = code + bytes;
    for (; bytes >= LENGTH && (code = memchr(code, CALL, (size_t)(end - code))); code++) {
        int32_t distance;
        if (end - code < LENGTH)
            return false;
        memcpy(&distance, code + 1, sizeof(distance));
        if ((uintptr_t)code + LENGTH + (uintptr_t)(intptr_t)distance == target)
            return true;
    }
    return false;
}

#elif defined(__aarch64__)

/* BL imm26: the distance counts in words of 4 bytes from the instruction, as a signed number of 26
 * bits. */
bool spex_function_calls(const unsigned char *code, size_t bytes, uintptr_t target) {
    enum { BL = 0x25, BITS = 26, LENGTH = 4 };
    for (size_t at = 0; at + LENGTH <= bytes; at += LENGTH) {
        uint32_t word;
        memcpy(&word, code + at, sizeof(word));
        if (word >> BITS != BL)
            continue;
        int64_t words = (int64_t)((uint64_t)word << (64 - BITS)) >> (64 - BITS);
        if ((uintptr_t)(code + at) + (uintptr_t)(words * LENGTH) == target)
            return true;
    }
    return false;
}

#else

bool spex_function_calls(const unsigned char *code, size_t bytes, uintptr_t target) {
    (void)code;
    (void)bytes;
    (void)target;
    return true;
}

#endif
