/* SPDX-License-Identifier: MIT */
/* The format of a trace on disk: packets of CTF 1.8, and the journal, which holds what spex itself
 * needs besides. docs/traces.md describes both. All in the byte order of the machine that wrote it,
 * which the metadata says. */
#ifndef SPEX_TRACE_TRACE_FORMAT_H
#define SPEX_TRACE_TRACE_FORMAT_H

#include <stdint.h>

#include <spex/record.h>

#include "profile/profile.h"
#include "wire/stream_format.h"

#define SPEX_TRACE_MAGIC      0xC1FC1FC1u
#define SPEX_TRACE_UUID_BYTES 16

/* The size of every packet, and the part of it that the header takes. A write that is cut short, by
 * a signal or a full disk, ends at a page of the file. A page holds whole packets. */
#define SPEX_TRACE_PACKET_BYTES 4096

/* cpu_id of a stream with records of several CPUs. */
#define SPEX_TRACE_CPU_NONE UINT32_MAX

struct spex_trace_packet {
    uint32_t magic;
    uint8_t uuid[SPEX_TRACE_UUID_BYTES];
    uint32_t stream_id;
    uint64_t begin; /* ticks of the first event, and of the last */
    uint64_t end;
    uint64_t content_bits; /* of the packet with this header */
    uint64_t packet_bits;
    uint64_t discarded; /* events lost in this stream, so far */
    uint64_t number;    /* of the packet in its stream */
    uint32_t cpu;
    uint32_t thread; /* of the events that do not tell theirs */
} __attribute__((packed));

/* An event begins with a tag of 16 bits, or 32 with SPEX_TRACE_TIME_64: 2 bits that tell how much
 * of its time follows, and its id in the others, in the order of CTF's bit fields. */
enum spex_trace_time {
    SPEX_TRACE_TIME_16,
    SPEX_TRACE_TIME_24,
    SPEX_TRACE_TIME_32,
    SPEX_TRACE_TIME_64,
};

enum { SPEX_TRACE_TAG_BYTES = 2, SPEX_TRACE_LONG_TAG_BYTES = 4 };

/* The ids that fit into a tag of 16 bits, and into one of 32. */
#define SPEX_TRACE_SHORT_IDS (1u << 14)
#define SPEX_TRACE_LONG_IDS  (1u << 30)

static inline uint32_t spex_trace_tag(enum spex_trace_time time, uint32_t id) {
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        return (uint32_t)time | id << 2;
    return (uint32_t)time *
               (time == SPEX_TRACE_TIME_64 ? SPEX_TRACE_LONG_IDS : SPEX_TRACE_SHORT_IDS) |
           id;
}

/* The time of a tag by its first 16 bits. */
static inline enum spex_trace_time spex_trace_tag_time(unsigned tag) {
    return (enum spex_trace_time)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? tag & 3 : tag >> 14);
}

/* The id of a tag that is whole, whose ids are `ids`. */
static inline uint32_t spex_trace_tag_id(uint32_t tag, uint32_t ids) {
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? tag >> 2 : tag & (ids - 1);
}

static inline unsigned spex_trace_time_bytes(enum spex_trace_time time) {
    return 0x8432u >> (4 * (unsigned)time) & 15;
}

/* The bits that tell how wide a value must be stored: integers that are signed are extended by their
 * sign, and floating-point numbers have 64 bits. */
static inline uint64_t spex_trace_significant(uint64_t bits, unsigned kind) {
    uint64_t sign = 0 - (bits >> 63);
    if (kind == SPEX_KIND_FLOATING)
        return UINT64_MAX;
    return kind == SPEX_KIND_SIGNED ? (bits ^ sign) << 1 : bits;
}

/* A signed integer from its low bytes. */
static inline uint64_t spex_trace_extend(uint64_t low, unsigned bytes) {
    unsigned other = 64 - 8 * bytes;
    return (uint64_t)((int64_t)(low << other) >> other);
}

/* An id stands for a class of events and for a layout, which is one of these numbers: bits 0 and 1
 * tell the width of the first value, as a power of 2 in bytes, bits 2 and 3 that of the other
 * values; SPEX_LAYOUT_THREAD: the event tells its thread; the rest is one of the last three. The
 * parts that there are follow each other in this order: thread u32; weight; lost u32; marks u8; gap
 * u8; values. */
enum spex_trace_layout {
    SPEX_LAYOUT_OTHERS = 1 << 2,
    SPEX_LAYOUT_THREAD = 1 << 4,
    SPEX_LAYOUT_PLAIN = 0 << 5, /* weight 1, and nothing else */
    SPEX_LAYOUT_DRAWN = 1 << 5, /* weight u16 and marks */
    SPEX_LAYOUT_FULL = 2 << 5,  /* weight u32, lost, marks and gap */
};

#define SPEX_LAYOUT_WIDTH_MASK 3u
#define SPEX_LAYOUT_MORE_MASK  (3u << 5)
#define SPEX_TRACE_LAYOUTS     (3u << 5)

/* Bytes of an event's parts behind its time. */
static inline unsigned spex_layout_bytes(unsigned layout, unsigned values) {
    unsigned bytes = (layout & SPEX_LAYOUT_THREAD ? 4 : 0) + (0xa30u >> (layout >> 5) * 4 & 15);
    if (values)
        bytes += (1u << (layout & SPEX_LAYOUT_WIDTH_MASK)) +
                 ((values - 1) << (layout / SPEX_LAYOUT_OTHERS & SPEX_LAYOUT_WIDTH_MASK));
    return bytes;
}

#define SPEX_TRACE_CLASSES_MAX 32768u
#define SPEX_TRACE_EVENTS_MAX  (1u << 20)

#define SPEX_JOURNAL_MAGIC   0x524A5853u /* "SXJR" */
#define SPEX_JOURNAL_VERSION 3           /* of the whole trace */

enum spex_journal_kind {
    SPEX_JOURNAL_SITES = 1, /* struct spex_stream_site */
    SPEX_JOURNAL_CONTEXTS,  /* struct spex_stream_context */
    SPEX_JOURNAL_EVENTS,    /* struct spex_journal_event, before the first event with the id */
    SPEX_JOURNAL_CLOCK,     /* struct spex_journal_clock */
    /* Bytes: 8 of ticks, then the frames of one profile (control_format.h) without VALUES, SPREAD
     * and DONE. */
    SPEX_JOURNAL_PROFILE,
    SPEX_JOURNAL_LOST, /* struct spex_journal_lost */
    SPEX_JOURNAL_MARK, /* bytes: 8 of ticks, then a text without a 0 at its end */
};

/* What the text of a mark begins with where an error has ended the recording. */
#define SPEX_JOURNAL_ENDED "recording ended: "

/* Before each frame's entries. */
struct spex_journal_header {
    uint32_t magic;
    uint16_t version;
    uint16_t kind;
    uint32_t count; /* entries, or bytes */
    uint32_t entry_bytes;
};

struct spex_journal_event {
    uint32_t id;
    uint32_t class;
    uint16_t probe_id;
    uint16_t values; /* stored ones */
    uint32_t probe_type;
    uint32_t layout;
    uint32_t kinds; /* of the fields, as records have them */
};

/* One moment on three clocks. */
struct spex_journal_clock {
    uint64_t ticks;
    uint64_t realtime_ns;
    uint64_t monotonic_ns;
    /* In the first of a trace, not 0: the process had counted nothing before it was recorded. */
    uint64_t whole;
};

struct spex_journal_lost {
    uint64_t ticks;
    uint64_t lost; /* records of the process that are not in the trace, so far */
};

#endif
