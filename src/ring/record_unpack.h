/* SPDX-License-Identifier: MIT */
/* Turns a record as it lies in a ring into one as everybody else has it. Records in a row mostly
 * differ in nothing but time and values: those who go through many look at the rest once. */
#ifndef SPEX_RING_RECORD_UNPACK_H
#define SPEX_RING_RECORD_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "ring/probe_type.h"
#include "ring/record_layout.h"

/* What a record in a ring does not say itself, by its site. */
struct spex_packed_probe {
    uint16_t probe_id;
    uint8_t values; /* that a record stores beside its weight */
    uint32_t probe_type;
    uint32_t kinds; /* as a record has them */
};

/* What a record has in common with all those of its ring that have the same word 1: most have that
 * of the one before. */
struct spex_packed_kind {
    /* Without a time and values. */
    struct spex_record head;
    /* The first value's field, and how many values there are. */
    uint32_t first, values;
};

static inline struct spex_packed_kind spex_packed_kind(uint64_t word, unsigned cpu,
                                                       uint32_t thread_id,
                                                       struct spex_packed_probe probe) {
    uint32_t marks = spex_packed_marks(word), first = spex_probe_type_first_value(probe.probe_type);
    uint32_t values = marks & SPEX_MARK_UNAVAILABLE ? 0 : probe.values;
    return (struct spex_packed_kind){.head = {.probe_type = probe.probe_type,
                                              .thread_id = thread_id,
                                              .weight = spex_packed_weight(word),
                                              .probe_id = probe.probe_id,
                                              .cpu_id = (uint16_t)cpu,
                                              .field_count = (uint8_t)(first + values),
                                              .marks = (uint8_t)marks,
                                              .kinds = probe.kinds},
                                     .first = first,
                                     .values = values};
}

/* Fields behind the record's `field_count` keep their former contents. */
static inline void spex_record_unpack(const uint64_t *words, const struct spex_packed_kind *kind,
                                      struct spex_record *record) {
    memcpy(record, &kind->head, offsetof(struct spex_record, fields));
    record->timestamp = words[0];
    record->fields[0] = kind->head.weight;
    for (uint32_t v = 0; v < kind->values; v++)
        record->fields[kind->first + v] = words[SPEX_HEADER_WORDS + v];
}

/* Whether records differ in nothing but time and values. */
static inline bool spex_record_is_like(const struct spex_record *record,
                                       const struct spex_record *other) {
    const size_t from = offsetof(struct spex_record, probe_type);
    return memcmp((const char *)record + from, (const char *)other + from,
                  offsetof(struct spex_record, fields) - from) == 0;
}

#endif
