/* SPDX-License-Identifier: MIT */
/* The values of a record's fields, by their kinds (enum spex_kind). */
#ifndef SPEX_RING_FIELD_VALUE_H
#define SPEX_RING_FIELD_VALUE_H

#include <stdint.h>
#include <string.h>

#include <spex/record.h>

/* The kind of a field. Of records from elsewhere it may be any number of two bits. */
static inline unsigned spex_kind_at(uint32_t kinds, unsigned field) {
    return kinds >> 2 * field & 3;
}

static inline double spex_bits_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* The value that the bits stand for; of an integer, the double next to it. */
static inline double spex_bits_number(uint64_t bits, unsigned kind) {
    if (kind == SPEX_KIND_FLOATING)
        return spex_bits_double(bits);
    return kind == SPEX_KIND_SIGNED ? (double)(int64_t)bits : (double)bits;
}

static inline double spex_field_number(const struct spex_record *record, unsigned field) {
    return spex_bits_number(record->fields[field], spex_kind_at(record->kinds, field));
}

#endif
