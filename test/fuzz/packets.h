/* SPDX-License-Identifier: MIT */
/* An input as packets, each behind two bytes that tell its length. */
#ifndef SPEX_FUZZ_PACKETS_H
#define SPEX_FUZZ_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Takes one packet off the front of the input; false when there is none. */
static inline bool packet_next(const uint8_t **data, size_t *size, const uint8_t **packet,
                               size_t *length) {
    if (*size < 2)
        return false;
    *length = (size_t)(*data)[0] | (size_t)(*data)[1] << 8;
    *packet = *data + 2;
    *length = *length < *size - 2 ? *length : *size - 2;
    *data += 2 + *length;
    *size -= 2 + *length;
    return true;
}

/* Puts one of a head and what follows it to `at`; behind which the next one comes. */
static inline size_t packet_put(uint8_t *data, size_t at, const void *head, size_t head_bytes,
                                const void *body, size_t body_bytes) {
    size_t length = head_bytes + body_bytes;
    data[at] = (uint8_t)length;
    data[at + 1] = (uint8_t)(length >> 8);
    memcpy(data + at + 2, head, head_bytes);
    if (body_bytes)
        memcpy(data + at + 2 + head_bytes, body, body_bytes);
    return at + 2 + length;
}

#endif
