/* SPDX-License-Identifier: MIT */
/* Properties of the probe types: names, numbers of rings, and the fields of records. `type` is one
 * bit of enum spex_probe_type, except where a comment says otherwise. */
#ifndef SPEX_RING_PROBE_TYPE_H
#define SPEX_RING_PROBE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>
#include <spex/site.h>

/* Returns "lat" for SPEX_LAT; "?" for a number that is no type. */
const char *spex_probe_type_name(uint32_t type);

/* Returns the type with this name, which is in lower case and has `length` bytes; 0: there is
 * none. */
uint32_t spex_probe_type_named(const char *name, size_t length);

/* Returns which of a CPU's rings belongs to the type, 0 to SPEX_PROBE_TYPES - 1. */
static inline unsigned spex_probe_type_ring(uint32_t type) {
    return (unsigned)__builtin_ctz(type);
}

/* The inverse of spex_probe_type_ring. */
uint32_t spex_probe_type_of_ring(unsigned ring);

/* Returns whether the number is exactly one type. */
static inline bool spex_probe_type_valid(uint32_t type) {
    return type && !(type & (type - 1)) && type < 1u << SPEX_PROBE_TYPES;
}

/* Returns how many fields of a record come before the stored values: 1 for CNT and TPT, whose first
 * field is the weight. */
static inline unsigned spex_probe_type_first_value(uint32_t type) {
    return type & (SPEX_CNT | SPEX_TPT) ? 1 : 0;
}

/* Returns whether the first value is a time in ticks. */
static inline bool spex_probe_type_ticks(uint32_t type) {
    return type & (SPEX_LAT | SPEX_TPT | SPEX_KERNEL | SPEX_SPAN);
}

/* Returns whether the type has a BEGIN and an END on the same thread, with time between them, so
 * that it can be polled. */
static inline bool spex_probe_type_lasts(uint32_t type) {
    return !(type & (SPEX_SNAPSHOT | SPEX_SPAN));
}

/* Returns whether a site is the END of a SPAN, which stands apart from its BEGIN. Executions are
 * counted and chosen at BEGIN. */
static inline bool spex_probe_type_ends_span(uint32_t type, unsigned detail) {
    return type == SPEX_SPAN && detail == SPEX_SPAN_ENDS;
}

/* Returns how many of a record's `fields` are measured values. A KERNEL record has its context and
 * parameters behind its time, a SPAN record its key. */
static inline unsigned spex_probe_type_measured(uint32_t type, unsigned fields) {
    return type & (SPEX_KERNEL | SPEX_SPAN) && fields > 1 ? 1 : fields;
}

/* Returns how many fields of a record come before those that the program gives. */
static inline unsigned spex_probe_type_first_given(uint32_t type) {
    return type == SPEX_KERNEL ? SPEX_KERNEL_VALUES : type == SPEX_SPAN;
}

/* Returns the most values that a record of this type stores beside its weight. */
uint32_t spex_probe_type_values(uint32_t type);

#endif
