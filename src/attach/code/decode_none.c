/* SPDX-License-Identifier: MIT */
#include "attach/code/decode.h"

bool spex_can_decode(void) {
    return false;
}

bool spex_decode(const uint8_t *code, size_t bytes, uint64_t address,
                 struct spex_instruction *instruction) {
    (void)code;
    (void)bytes;
    (void)address;
    (void)instruction;
    return false;
}
