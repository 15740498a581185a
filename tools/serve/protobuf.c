/* SPDX-License-Identifier: MIT */
#include "tools/serve/protobuf.h"

#include <stdlib.h>
#include <string.h>

/* What follows the number of a field. */
enum wire { VARINT = 0, FIXED64 = 1, LENGTH = 2 };

enum { VARINT_BYTES = 10 };

void spex_protobuf_free(struct spex_protobuf *to) {
    free(to->bytes);
    *to = (struct spex_protobuf){.bytes = NULL};
}

static void bytes_add(struct spex_protobuf *to, const void *bytes, size_t size) {
    size_t room = to->room;
    while (!to->failed && size > room - to->size)
        room = room ? 2 * room : 4096;
    char *grown = room == to->room ? to->bytes : realloc(to->bytes, room);
    to->failed |= !grown;
    if (to->failed)
        return;
    to->bytes = grown;
    to->room = room;
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static size_t varint_write(char bytes[VARINT_BYTES], uint64_t value) {
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (char)(value | 0x80);
    bytes[size++] = (char)value;
    return size;
}

void spex_protobuf_varint(struct spex_protobuf *to, uint64_t value) {
    char bytes[VARINT_BYTES];
    size_t size = varint_write(bytes, value);
    bytes_add(to, bytes, size);
}

static void tag(struct spex_protobuf *to, unsigned field, enum wire wire) {
    spex_protobuf_varint(to, (uint64_t)field << 3 | wire);
}

void spex_protobuf_number(struct spex_protobuf *to, unsigned field, uint64_t value) {
    tag(to, field, VARINT);
    spex_protobuf_varint(to, value);
}

void spex_protobuf_double(struct spex_protobuf *to, unsigned field, double value) {
    uint64_t bits;
    char bytes[sizeof(bits)];
    memcpy(&bits, &value, sizeof(bits));
    for (size_t b = 0; b < sizeof(bits); b++)
        bytes[b] = (char)(bits >> 8 * b);
    tag(to, field, FIXED64);
    bytes_add(to, bytes, sizeof(bytes));
}

void spex_protobuf_text(struct spex_protobuf *to, unsigned field, const char *text) {
    size_t size = strlen(text);
    tag(to, field, LENGTH);
    spex_protobuf_varint(to, size);
    bytes_add(to, text, size);
}

size_t spex_protobuf_begin(struct spex_protobuf *to, unsigned field) {
    tag(to, field, LENGTH);
    return to->size;
}

/* The length is known now, and stands before what has been written. */
void spex_protobuf_end(struct spex_protobuf *to, size_t begun) {
    char length[VARINT_BYTES];
    size_t size = to->size - begun, bytes = varint_write(length, size);
    bytes_add(to, length, bytes);
    if (to->failed)
        return;
    memmove(to->bytes + begun + bytes, to->bytes + begun, size);
    memcpy(to->bytes + begun, length, bytes);
}
