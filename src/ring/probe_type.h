/* SPDX-License-Identifier: MIT */
/* Names, ring numbers and slot sizes of the probe types. */
#ifndef SPEX_RING_PROBE_TYPE_H
#define SPEX_RING_PROBE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

/* "lat" for SPEX_LAT; "?" for what is no type. */
const char *spex_probe_type_name(uint32_t type);

/* The type called so, in lower case (`length` bytes), or 0. */
uint32_t spex_probe_type_named(const char *name, size_t length);

/* 0 to SPEX_PROBE_TYPES - 1: which of a CPU's rings is this type's. */
static inline unsigned spex_probe_type_ring(uint32_t type) {
    return (unsigned)__builtin_ctz(type);
}
uint32_t spex_probe_type_of_ring(unsigned ring);

/* Whether this is one type, and not a set of them or anything else. */
static inline bool spex_probe_type_valid(uint32_t type) {
    return type && !(type & (type - 1)) && type < 1u << SPEX_PROBE_TYPES;
}

/* Fields of a record that come before what it stores: the weight, or nothing. */
static inline unsigned spex_probe_type_first_value(uint32_t type) {
    return type & (SPEX_CNT | SPEX_TPT) ? 1 : 0;
}

/* Whether its value is a time. */
static inline bool spex_probe_type_ticks(uint32_t type) {
    return type & (SPEX_LAT | SPEX_TPT | SPEX_KERNEL);
}

/* Whether it has a BEGIN and an END, and time between them. */
static inline bool spex_probe_type_lasts(uint32_t type) {
    return type != SPEX_SNAPSHOT;
}

/* Of a record's fields, those that are measured. */
static inline unsigned spex_probe_type_measured(uint32_t type, unsigned fields) {
    return type == SPEX_KERNEL && fields > 1 ? 1 : fields;
}

/* Most values a record of this type stores beside its weight. */
uint32_t spex_probe_type_values(uint32_t type);

#endif
