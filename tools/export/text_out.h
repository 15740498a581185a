/* SPDX-License-Identifier: MIT */
/* Text in a buffer of its own before it goes to a stream: a record's numbers are written in a tenth
 * of the time that fprintf takes. Errors stay in the stream. */
#ifndef SPEX_TOOLS_EXPORT_TEXT_OUT_H
#define SPEX_TOOLS_EXPORT_TEXT_OUT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ring/field_value.h"
#include "text/number.h"

enum { SPEX_TEXT_OUT_BYTES = 1 << 16 };

struct spex_text_out {
    FILE *file;
    size_t used;
    char bytes[SPEX_TEXT_OUT_BYTES];
};

static inline void spex_text_out_flush(struct spex_text_out *out) {
    fwrite(out->bytes, 1, out->used, out->file);
    out->used = 0;
}

static inline void spex_text_out_bytes(struct spex_text_out *out, const char *bytes, size_t count) {
    if (count > sizeof(out->bytes) - out->used)
        spex_text_out_flush(out);
    if (count > sizeof(out->bytes)) {
        fwrite(bytes, 1, count, out->file);
        return;
    }
    memcpy(out->bytes + out->used, bytes, count);
    out->used += count;
}

static inline void spex_text_out(struct spex_text_out *out, const char *text) {
    spex_text_out_bytes(out, text, strlen(text));
}

static inline void spex_text_out_number(struct spex_text_out *out, uint64_t number) {
    char digits[20];
    size_t at = sizeof(digits);
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    spex_text_out_bytes(out, digits + at, sizeof(digits) - at);
}

static inline void spex_text_out_signed(struct spex_text_out *out, int64_t number) {
    if (number < 0)
        spex_text_out(out, "-");
    spex_text_out_number(out, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

/* A value of the program by its kind. */
static inline void spex_text_out_value(struct spex_text_out *out, uint64_t bits, unsigned kind) {
    char text[SPEX_DOUBLE_TEXT_BYTES];
    if (kind == SPEX_KIND_FLOATING)
        spex_text_out(out, spex_double_text(spex_bits_double(bits), text));
    else if (kind == SPEX_KIND_SIGNED)
        spex_text_out_signed(out, (int64_t)bits);
    else
        spex_text_out_number(out, bits);
}

/* Nanoseconds as microseconds: "12.345". */
static inline void spex_text_out_us(struct spex_text_out *out, int64_t ns) {
    uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    unsigned rest = (unsigned)(magnitude % 1000);
    char point[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                     (char)('0' + rest % 10)};
    if (ns < 0)
        spex_text_out(out, "-");
    spex_text_out_number(out, magnitude / 1000);
    spex_text_out_bytes(out, point, sizeof(point));
}

#endif
