/* SPDX-License-Identifier: MIT */
/* Writes messages of Protocol Buffers: fields one behind the other, a message within another one between
 * begin and end. Without memory nothing more is written, and `failed` tells it. */
#ifndef SPEX_TOOLS_SERVE_PROTOBUF_H
#define SPEX_TOOLS_SERVE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty one. */
struct spex_protobuf {
    char *bytes;
    size_t size, room;
    bool failed;
};

void spex_protobuf_free(struct spex_protobuf *to);

void spex_protobuf_varint(struct spex_protobuf *to, uint64_t value);

/* Signed numbers that are small have small ones of these. */
static inline uint64_t spex_protobuf_zigzag(int64_t value) {
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

/* Fields by their numbers. */
void spex_protobuf_number(struct spex_protobuf *to, unsigned field, uint64_t value);
void spex_protobuf_double(struct spex_protobuf *to, unsigned field, double value);
void spex_protobuf_text(struct spex_protobuf *to, unsigned field, const char *text);

/* Begins a message or a packed list; returns what its end is called with. */
size_t spex_protobuf_begin(struct spex_protobuf *to, unsigned field);
void spex_protobuf_end(struct spex_protobuf *to, size_t begun);

#endif
