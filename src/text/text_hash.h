/* SPDX-License-Identifier: MIT */
/* A hash of texts (FNV-1a), to tell them apart: no proof against somebody who looks for two that
 * are alike. */
#ifndef SPEX_TEXT_TEXT_HASH_H
#define SPEX_TEXT_TEXT_HASH_H

#include <stdint.h>

#define SPEX_TEXT_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* Adds a text, with its end, to the hash of those before it. */
static inline uint64_t spex_text_hash(uint64_t hash, const char *text) {
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    while (*text++);
    return hash;
}

#endif
