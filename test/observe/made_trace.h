/* SPDX-License-Identifier: MIT */
/* A trace on disk, made byte by byte, so that tests of its reader know all that is in it. */
#ifndef SPEX_TEST_MADE_TRACE_H
#define SPEX_TEST_MADE_TRACE_H

#include <sys/stat.h>

#include "../check.h"
#include "trace/trace_format.h"
#include "wire/control_format.h"

/* A moment so many milliseconds after the trace's first one, in ticks of 1 ns. */
#define MADE_BEGIN  UINT64_C(0x1ffffff00)
#define MADE_AT(ms) (MADE_BEGIN + (uint64_t)(ms)*1000000)

/* Of the clock, in 1970 and since boot. */
#define MADE_REALTIME  UINT64_C(5000000000000000)
#define MADE_MONOTONIC UINT64_C(70000000000)

static const uint8_t made_uuid[SPEX_TRACE_UUID_BYTES] = {1, 2,  3,  4,  5,  6,  7,  8,
                                                         9, 10, 11, 12, 13, 14, 15, 0xab};
static const char made_metadata[] = "/* CTF 1.8 */\n"
                                    "uuid = \"01020304-0506-0708-090a-0b0c0d0e0fAB\";\n"
                                    "freq = 500000000;\n";

/* The classes, of the sites in made_journal(). */
enum { MADE_LAT, MADE_KERNEL, MADE_CNT, MADE_UNKNOWN, MADE_STRANGE, MADE_CLASSES };

/* Bytes that are to be written to a file. */
struct made {
    unsigned char bytes[1 << 16];
    size_t count;
};

static inline void made_put(struct made *made, const void *bytes, size_t count) {
    assert_true(made->count + count <= sizeof(made->bytes));
    if (count)
        memcpy(made->bytes + made->count, bytes, count);
    made->count += count;
}

static inline void made_frame(struct made *made, uint16_t kind, const void *entries, size_t count,
                              size_t entry_bytes) {
    const struct spex_journal_header head = {.magic = SPEX_JOURNAL_MAGIC,
                                             .version = SPEX_JOURNAL_VERSION,
                                             .kind = kind,
                                             .count = (uint32_t)count,
                                             .entry_bytes = (uint32_t)entry_bytes};
    made_put(made, &head, sizeof(head));
    made_put(made, entries, count * entry_bytes);
}

/* A frame whose entries are bytes behind a time. */
static inline void made_timed(struct made *made, uint16_t kind, uint64_t ticks, const void *bytes,
                              size_t count) {
    const struct spex_journal_header head = {.magic = SPEX_JOURNAL_MAGIC,
                                             .version = SPEX_JOURNAL_VERSION,
                                             .kind = kind,
                                             .count = (uint32_t)(sizeof(ticks) + count),
                                             .entry_bytes = 1};
    made_put(made, &head, sizeof(head));
    made_put(made, &ticks, sizeof(ticks));
    made_put(made, bytes, count);
}

static inline void made_control(struct made *made, uint16_t kind, const void *entry, size_t bytes) {
    const struct spex_control_frame head = {.magic = SPEX_CONTROL_MAGIC,
                                            .version = SPEX_CONTROL_VERSION,
                                            .kind = kind,
                                            .count = 1,
                                            .entry_bytes = (uint32_t)bytes};
    made_put(made, &head, sizeof(head));
    made_put(made, entry, bytes);
}

/* The frames of a profile with one probe. */
static inline void made_profile_frames(struct made *made,
                                       const struct spex_profile_process *process,
                                       const struct spex_profile_probe *probe) {
    const struct spex_profile_type type = {
        .probe_type = SPEX_LAT, .produced = process->produced, .lost = process->lost};
    made_control(made, SPEX_CONTROL_PROCESS, process, sizeof(*process));
    made_control(made, SPEX_CONTROL_TYPES, &type, sizeof(type));
    made_control(made, SPEX_CONTROL_PROBE, probe, sizeof(*probe));
}

static inline void made_profile(struct made *made, uint64_t ticks,
                                const struct spex_profile_process *process,
                                const struct spex_profile_probe *probe) {
    static struct made frames;
    frames.count = 0;
    made_profile_frames(&frames, process, probe);
    made_timed(made, SPEX_JOURNAL_PROFILE, ticks, frames.bytes, frames.count);
}

static inline void made_first_anchor(struct made *made, unsigned ms, bool whole) {
    const struct spex_journal_clock clock = {.ticks = MADE_AT(ms),
                                             .realtime_ns = MADE_REALTIME + ms * UINT64_C(1000000),
                                             .monotonic_ns =
                                                 MADE_MONOTONIC + ms * UINT64_C(1000000),
                                             .whole = whole};
    made_frame(made, SPEX_JOURNAL_CLOCK, &clock, 1, sizeof(clock));
}

static inline void made_anchor(struct made *made, unsigned ms) {
    made_first_anchor(made, ms, false);
}

static inline void made_lost(struct made *made, unsigned ms, uint64_t lost) {
    const struct spex_journal_lost entry = {MADE_AT(ms), lost};
    made_frame(made, SPEX_JOURNAL_LOST, &entry, 1, sizeof(entry));
}

/* Compact events have values of 4 bytes, full ones of 8. */
#define MADE_COMPACT (SPEX_LAYOUT_THREAD | SPEX_LAYOUT_PLAIN | 2 | 2 * SPEX_LAYOUT_OTHERS)
#define MADE_FULL    (SPEX_LAYOUT_THREAD | SPEX_LAYOUT_FULL | 3 | 3 * SPEX_LAYOUT_OTHERS)

/* Both of a class. */
#define MADE_EVENT(number, probe, count, type, is_full)                                            \
    {                                                                                              \
        .class = (number), .probe_id = (probe), .values = (count), .probe_type = (type),           \
        .id = 2 * (number) + (is_full), .layout = (is_full) ? MADE_FULL : MADE_COMPACT             \
    }
#define MADE_EVENTS(number, probe, count, type)                                                    \
    MADE_EVENT(number, probe, count, type, 0), MADE_EVENT(number, probe, count, type, 1)

/* Sites, contexts and classes. */
static inline void made_journal(struct made *made) {
    static const struct spex_stream_site sites[] = {
        {.probe_id = 1, .probe_type = SPEX_LAT, .name = "query", .provider = "lib", .declared = 8},
        {.probe_id = 2,
         .probe_type = SPEX_KERNEL,
         .name = "so\nrt",
         .provider = "lib",
         .parameters = "n, m"},
        {.probe_id = 3, .probe_type = SPEX_FLT, .provider = "not this one"},
        {.probe_id = 3, .probe_type = SPEX_CNT, .provider = "app", .declared = 5},
        {.probe_id = 1, .probe_type = SPEX_LAT, .name = "again", .provider = "lib"}};
    static const struct spex_stream_context contexts[] = {{2, 1, 2}, {3, 2, 9}};
    static const struct spex_journal_event classes[] = {
        MADE_EVENTS(MADE_STRANGE, 1, 2, SPEX_LAT), MADE_EVENTS(MADE_LAT, 1, 1, SPEX_LAT),
        MADE_EVENTS(MADE_KERNEL, 2, 3, SPEX_KERNEL), MADE_EVENTS(MADE_CNT, 3, 0, SPEX_CNT)};
    made_frame(made, SPEX_JOURNAL_SITES, sites, COUNT_OF(sites), sizeof(sites[0]));
    made_frame(made, SPEX_JOURNAL_CONTEXTS, contexts, COUNT_OF(contexts), sizeof(contexts[0]));
    made_frame(made, SPEX_JOURNAL_EVENTS, classes, COUNT_OF(classes), sizeof(classes[0]));
}

/* Begins a packet of a stream, whose events follow; its head is written again by its end. */
static inline size_t packet_begin(struct made *made, unsigned begin_ms, unsigned end_ms,
                                  unsigned cpu, uint64_t number) {
    const struct spex_trace_packet head = {.magic = SPEX_TRACE_MAGIC,
                                           .begin = MADE_AT(begin_ms),
                                           .end = MADE_AT(end_ms),
                                           .discarded = 10 * number + cpu,
                                           .number = number,
                                           .cpu = cpu};
    size_t at = made->count;
    made_put(made, &head, sizeof(head));
    memcpy(made->bytes + at + offsetof(struct spex_trace_packet, uuid), made_uuid,
           sizeof(made_uuid));
    return at;
}

/* `padding`: bytes behind the events that belong to the packet. */
static inline void packet_end(struct made *made, size_t at, size_t padding) {
    struct spex_trace_packet head;
    memcpy(&head, made->bytes + at, sizeof(head));
    head.content_bits = 8 * (made->count - at);
    head.packet_bits = head.content_bits + 8 * padding;
    memcpy(made->bytes + at, &head, sizeof(head));
    memset(made->bytes + made->count, 0, padding);
    made->count += padding;
}

static inline void event_head(struct made *made, unsigned id, uint64_t ticks, uint32_t thread) {
    const uint16_t number = (uint16_t)spex_trace_tag(SPEX_TRACE_TIME_32, id);
    const uint32_t low = (uint32_t)ticks;
    made_put(made, &number, sizeof(number));
    made_put(made, &low, sizeof(low));
    made_put(made, &thread, sizeof(thread));
}

static inline void event_compact(struct made *made, unsigned class, unsigned ms,
                                 const uint32_t *values, size_t count) {
    event_head(made, 2 * class, MADE_AT(ms), 100 + ms);
    made_put(made, values, count * sizeof(*values));
}

/* With all of its time, which need not come after the last event's. */
static inline void event_long(struct made *made, unsigned class, unsigned ms,
                              const uint32_t *values, size_t count) {
    const uint32_t number = spex_trace_tag(SPEX_TRACE_TIME_64, 2 * class), thread = 100 + ms;
    const uint64_t ticks = MADE_AT(ms);
    made_put(made, &number, sizeof(number));
    made_put(made, &ticks, sizeof(ticks));
    made_put(made, &thread, sizeof(thread));
    made_put(made, values, count * sizeof(*values));
}

static inline void event_full(struct made *made, unsigned class, unsigned ms, uint32_t weight,
                              uint32_t lost, const uint64_t *values, size_t count) {
    const uint8_t marks[2] = {SPEX_MARK_DRAWN, lost != 0};
    event_head(made, 2 * class + 1, MADE_AT(ms), 100 + ms);
    made_put(made, &weight, sizeof(weight));
    made_put(made, &lost, sizeof(lost));
    made_put(made, marks, sizeof(marks));
    made_put(made, values, count * sizeof(*values));
}

static inline void made_write(const char *folder, const char *name, const void *bytes,
                              size_t count) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    close(fd);
}

/* Makes the folder of a trace with its metadata and journal. */
static inline void made_folder(const char *folder, const struct made *journal) {
    char hidden[256];
    snprintf(hidden, sizeof(hidden), "%s/.spex", folder);
    mkdir(folder, 0700);
    mkdir(hidden, 0700);
    made_write(folder, "metadata", made_metadata, strlen(made_metadata));
    made_write(folder, ".spex/journal", journal->bytes, journal->count);
}

#endif
