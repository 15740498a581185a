/* SPDX-License-Identifier: MIT */
/* Readers know how many events were lost from the difference between a packet and the one before.
 * So the first packet of a file tells of none: where records were lost before its second event, it
 * ends there, and before its first, it is empty. */
#include "trace/packets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <spex/compiler.h>

#include "base/memory/memory.h"
#include "ring/field_value.h"
#include "ring/probe_type.h"
#include "ring/record_unpack.h"

/* HEAD_BYTES_MAX: of an event's tag and time. PARTS_MAX: of what follows but for the values.
 * BEYOND: bytes behind an event that change with it. */
enum {
    HEAD_BYTES_MAX = 12,
    PARTS_MAX = 14,
    BEYOND = 7,
    EVENT_BYTES_MAX = HEAD_BYTES_MAX + PARTS_MAX + 8 * SPEX_MAX_FIELDS,
};

_Static_assert(sizeof(struct spex_trace_packet) + EVENT_BYTES_MAX <= SPEX_TRACE_PACKET_BYTES,
               "any event fits into a packet");

int spex_packets_open(struct spex_packets *packets, size_t room, const uint8_t *uuid,
                      uint32_t cpu) {
    *packets = (struct spex_packets){.uuid = uuid, .cpu = cpu, .room = room};
    packets->bytes = spex_malloc(room + BEYOND);
    return packets->bytes ? 0 : -ENOMEM;
}

void spex_packets_free(struct spex_packets *packets) {
    spex_free(packets->bytes);
    packets->bytes = NULL;
}

void spex_packets_close(struct spex_packets *packets) {
    if (!packets->used)
        return;
    uint8_t *packet = packets->bytes + packets->closed;
    struct spex_trace_packet header = {
        .magic = SPEX_TRACE_MAGIC,
        .begin = packets->begin,
        .end = packets->last,
        .content_bits = packets->used * 8,
        .packet_bits = SPEX_TRACE_PACKET_BYTES * 8,
        .discarded = packets->discarded,
        .number = packets->number++,
        .cpu = packets->cpu,
        .thread = packets->thread,
    };
    memcpy(header.uuid, packets->uuid, sizeof(header.uuid));
    memcpy(packet, &header, sizeof(header));
    memset(packet + packets->used, 0, SPEX_TRACE_PACKET_BYTES - packets->used);
    packets->closed += SPEX_TRACE_PACKET_BYTES;
    packets->used = 0;
}

/* False: there is no room for one. */
static bool packet_begin(struct spex_packets *packets, uint64_t ticks, uint32_t thread) {
    if (packets->closed == packets->room)
        return false;
    packets->used = sizeof(struct spex_trace_packet);
    packets->begin = packets->last = ticks;
    packets->thread = thread;
    return true;
}

bool spex_packets_add_lost(struct spex_packets *packets, uint64_t ticks, uint64_t lost) {
    spex_packets_close(packets);
    if (packets->number == 0) {
        if (!packet_begin(packets, ticks, packets->thread))
            return false;
        spex_packets_close(packets);
    }
    if (!packet_begin(packets, ticks > packets->last ? ticks : packets->last, packets->thread))
        return false;
    packets->discarded += lost;
    packets->lost += lost;
    spex_packets_close(packets);
    return true;
}

/* The width that holds a value, as a power of 2 in bytes. */
static unsigned width_of(uint64_t value) {
    unsigned bytes = (unsigned)(63 - __builtin_clzll(value | 1)) / 8;
    return 0x33332210u >> (4 * bytes) & SPEX_LAYOUT_WIDTH_MASK;
}

/* What else than values the event must tell. */
static unsigned more_of(const struct spex_record *record, uint64_t lost) {
    if (record->weight == 1 && !(record->marks | record->gap | lost))
        return SPEX_LAYOUT_PLAIN;
    return record->gap || lost || record->weight > UINT16_MAX ? SPEX_LAYOUT_FULL
                                                              : SPEX_LAYOUT_DRAWN;
}

/* The part of the layout that the values decide, which are those from field `first` on. */
static inline unsigned widths_of(const struct spex_record *record, unsigned first,
                                 unsigned values) {
    const uint64_t *value = &record->fields[first];
    uint64_t one = values ? value[0] : 0, others = 0;
    for (unsigned v = 1; v < values; v++)
        others |= value[v];
    if (SPEX_UNLIKELY(record->kinds)) {
        uint32_t kinds = record->kinds >> 2 * first;
        one = spex_trace_significant(one, spex_kind_at(kinds, 0));
        for (unsigned v = 1; v < values; v++)
            others |= spex_trace_significant(value[v], spex_kind_at(kinds, v));
    }
    return values ? width_of(one) | width_of(others) * SPEX_LAYOUT_OTHERS : 0;
}

static enum spex_trace_time time_of(uint64_t since, uint32_t id) {
    if (since > UINT32_MAX || id >= SPEX_TRACE_SHORT_IDS)
        return SPEX_TRACE_TIME_64;
    return (enum spex_trace_time)((since > 0xffff) + (since > 0xffffff));
}

/* Writes the low bytes of a value. Up to 7 bytes behind them change. */
static uint8_t *put(uint8_t *at, uint64_t value, unsigned bytes) {
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        value <<= 64 - 8 * bytes;
    memcpy(at, &value, sizeof(value));
    return at + bytes;
}

static uint8_t *put_more(uint8_t *at, unsigned more, const struct spex_record *record,
                         uint64_t lost) {
    if (more == SPEX_LAYOUT_PLAIN)
        return at;
    bool full = more == SPEX_LAYOUT_FULL;
    at = put(at, record->weight, full ? 4 : 2);
    if (full)
        at = put(at, lost, 4);
    at = put(at, record->marks, 1);
    return full ? put(at, record->gap, 1) : at;
}

static inline uint8_t *put_values(uint8_t *at, unsigned layout, const uint64_t *value,
                                  unsigned values) {
    if (!values)
        return at;
    at = put(at, value[0], 1u << (layout & SPEX_LAYOUT_WIDTH_MASK));
    unsigned bytes = 1u << (layout / SPEX_LAYOUT_OTHERS & SPEX_LAYOUT_WIDTH_MASK);
    for (unsigned v = 1; v < values; v++)
        at = put(at, value[v], bytes);
    return at;
}

/* A packet for an event of so many bytes. It ends before one that it has no room for; and if it is
 * the first one and would tell of losses. False: there is no room. */
static bool packet_ready(struct spex_packets *packets, const struct spex_record *record,
                         size_t bytes, uint64_t lost) {
    bool first = lost && packets->number == 0;
    if (packets->used && (packets->used + bytes > SPEX_TRACE_PACKET_BYTES || first))
        spex_packets_close(packets);
    if (packets->used)
        return true;
    if (first && packets->number == 0) {
        if (!packet_begin(packets, record->timestamp, record->thread_id))
            return false;
        spex_packets_close(packets);
    }
    return packet_begin(packets, record->timestamp, record->thread_id);
}

bool spex_packets_ready(struct spex_packets *packets, const struct spex_record *record,
                        uint64_t lost, unsigned *layout) {
    unsigned first = spex_probe_type_first_value(record->probe_type);
    unsigned values = record->field_count - first;
    unsigned plain = more_of(record, lost) | widths_of(record, first, values);
    size_t most = HEAD_BYTES_MAX + spex_layout_bytes(plain | SPEX_LAYOUT_THREAD, values);
    if (!packet_ready(packets, record, most, lost))
        return false;
    *layout = record->thread_id == packets->thread ? plain : plain | SPEX_LAYOUT_THREAD;
    return true;
}

/* Writes the tag and the time of an event behind one at the time `last`. */
static inline uint8_t *put_head(uint8_t *at, uint64_t last, uint32_t id, uint64_t ticks) {
    enum spex_trace_time time = time_of(ticks - last, id);
    uint32_t tag = spex_trace_tag(time, id);
    unsigned bytes = spex_trace_time_bytes(time);
    if (time == SPEX_TRACE_TIME_64)
        return put(put(at, tag, SPEX_TRACE_LONG_TAG_BYTES), ticks, bytes);
    /* Both at once, in the order of the bytes. */
    uint64_t head = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
                        ? (uint64_t)tag << 8 * bytes | (ticks & ((UINT64_C(1) << 8 * bytes) - 1))
                        : ticks << 8 * SPEX_TRACE_TAG_BYTES | tag;
    return put(at, head, SPEX_TRACE_TAG_BYTES + bytes);
}

/* Writes an event, whose values are those from field `first` on. */
static inline uint8_t *put_event(uint8_t *at, uint64_t last, uint32_t id, unsigned layout,
                                 const struct spex_record *record, unsigned first, unsigned values,
                                 uint64_t lost) {
    at = put_head(at, last, id, record->timestamp);
    if (layout & SPEX_LAYOUT_THREAD)
        at = put(at, record->thread_id, 4);
    at = put_more(at, layout & SPEX_LAYOUT_MORE_MASK, record, lost);
    return put_values(at, layout, &record->fields[first], values);
}

void spex_packets_add(struct spex_packets *packets, uint32_t id, unsigned layout,
                      const struct spex_record *record, uint64_t lost) {
    unsigned first = spex_probe_type_first_value(record->probe_type);
    uint8_t *packet = packets->bytes + packets->closed;
    uint8_t *end = put_event(packet + packets->used, packets->last, id, layout, record, first,
                             record->field_count - first, lost);
    packets->used = (size_t)(end - packet);
    packets->last = record->timestamp;
    packets->discarded += lost;
    packets->lost += lost;
    packets->events++;
}

/* Whether a record is of the same class as another, and next to no losses. */
static inline bool is_alike(const struct spex_record *record, const struct spex_record *other) {
    return record->probe_id == other->probe_id && record->probe_type == other->probe_type &&
           record->field_count == other->field_count && record->kinds == other->kinds &&
           !(record->lost | record->gap);
}

/* `values`: how many each of the records has, from field `first` on. Inlined, so that the loops over
 * one value vanish. */
static inline size_t run_add(struct spex_packets *packets, const struct spex_record *records,
                             size_t count, const uint32_t *ids, unsigned first, unsigned values) {
    uint8_t *packet = packets->bytes + packets->closed, *at = packet + packets->used;
    const uint8_t *room = packet + SPEX_TRACE_PACKET_BYTES - EVENT_BYTES_MAX;
    uint64_t last = packets->last;
    unsigned kind = 0;
    size_t r = 0;
    for (; r < count && at <= room; r++) {
        const struct spex_record *record = &records[r];
        if (r == 0 || !spex_record_is_like(record, record - 1)) {
            if (!is_alike(record, records))
                break;
            kind = more_of(record, 0);
            kind |= record->thread_id == packets->thread ? 0 : SPEX_LAYOUT_THREAD;
        }
        unsigned layout = kind | widths_of(record, first, values);
        if (!ids[layout])
            break;
        at = put_event(at, last, ids[layout] - 1, layout, record, first, values, 0);
        last = record->timestamp;
    }
    packets->used = (size_t)(at - packet);
    packets->last = last;
    packets->events += r;
    return r;
}

size_t spex_packets_add_run(struct spex_packets *packets, const struct spex_record *records,
                            size_t count, const uint32_t *ids) {
    const unsigned first = spex_probe_type_first_value(records->probe_type);
    const unsigned values = records->field_count - first;
    if (!packets->used)
        return 0;
    return values == 1 ? run_add(packets, records, count, ids, first, 1)
                       : run_add(packets, records, count, ids, first, values);
}

void spex_packets_taken(struct spex_packets *packets) {
    packets->closed = 0;
    packets->events = packets->lost = 0;
}

void spex_packets_drop(struct spex_packets *packets) {
    packets->number -= packets->closed / SPEX_TRACE_PACKET_BYTES;
    packets->discarded -= packets->lost;
    packets->used = 0;
    spex_packets_taken(packets);
}

void spex_packets_restart(struct spex_packets *packets) {
    packets->number = 0;
    packets->discarded = 0;
    packets->last = 0;
}
