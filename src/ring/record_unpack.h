/* SPDX-License-Identifier: MIT */
/* Turns a record as it lies in a ring into one as everybody else has it. */
#ifndef SPEX_RING_RECORD_UNPACK_H
#define SPEX_RING_RECORD_UNPACK_H

#include "ring/probe_type.h"
#include "ring/record_layout.h"

/* What a record in a ring does not say itself, by its site. */
struct spex_packed_probe {
    uint16_t probe_id;
    uint8_t values; /* that a record stores beside its weight */
    uint32_t probe_type;
};

/* Fields behind the record's `field_count` keep their former contents. */
static inline void spex_record_unpack(const uint64_t *words, unsigned cpu,
                                      struct spex_packed_probe probe, struct spex_record *record) {
    uint32_t marks = spex_packed_marks(words[1]);
    unsigned first = spex_probe_type_first_value(probe.probe_type);
    unsigned given = marks & SPEX_MARK_UNAVAILABLE ? 0 : probe.values;
    record->timestamp = words[0];
    record->probe_type = probe.probe_type;
    record->thread_id = spex_packed_thread(words[1]);
    record->weight = spex_packed_weight(words[1]);
    record->probe_id = probe.probe_id;
    record->cpu_id = (uint16_t)cpu;
    record->field_count = (uint8_t)(first + given);
    record->marks = (uint8_t)marks;
    record->lost = 0;
    record->gap = 0;
    record->reserved = 0;
    record->fields[0] = record->weight;
    for (unsigned v = 0; v < given; v++)
        record->fields[first + v] = words[SPEX_HEADER_WORDS + v];
}

#endif
