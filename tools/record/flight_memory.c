/* SPDX-License-Identifier: MIT */
/* A queue of chunks, each of many entries, that go as a whole. A record is kept without the values
 * that it does not have: 40 bytes of a latency, which is less work than an event of a trace, as
 * most are never looked at. */
#include "tools/record/flight_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/stream_format.h"

enum { CHUNK_BYTES = 1 << 18 };

struct spex_flight_chunk {
    struct spex_flight_chunk *next;
    uint64_t last_ns; /* when its last entry came */
    size_t used;
    char entries[];
};

/* Records of a frame, unpacked, take at most this part of what the frame does: five words of
 * two. */
_Static_assert(SPEX_STREAM_FRAME_BYTES / 2 * 5 + sizeof(struct spex_flight_entry) <=
                   CHUNK_BYTES - sizeof(struct spex_flight_chunk),
               "a frame fits");
_Static_assert(SPEX_FLIGHT_MEMORY_LEAST >= 4 * CHUNK_BYTES, "several chunks");

void spex_flight_memory_free(struct spex_flight_memory *memory) {
    while (memory->oldest) {
        struct spex_flight_chunk *next = memory->oldest->next;
        free(memory->oldest);
        memory->oldest = next;
    }
    memory->newest = NULL;
    memory->bytes = 0;
}

/* Takes the oldest chunk away. */
static struct spex_flight_chunk *chunk_take(struct spex_flight_memory *memory, uint64_t now_ns) {
    struct spex_flight_chunk *chunk = memory->oldest;
    if (now_ns - chunk->last_ns < memory->window_ns)
        memory->cut_ns = chunk->last_ns;
    memory->oldest = chunk->next;
    memory->newest = chunk->next ? memory->newest : NULL;
    memory->bytes -= CHUNK_BYTES;
    return chunk;
}

/* An old chunk is used again: there is always one where the memory is full. */
static int chunk_append(struct spex_flight_memory *memory, uint64_t now_ns) {
    struct spex_flight_chunk *chunk = NULL;
    while (memory->oldest && (memory->bytes + CHUNK_BYTES > memory->most ||
                              now_ns - memory->oldest->last_ns >= memory->window_ns)) {
        free(chunk);
        chunk = chunk_take(memory, now_ns);
    }
    if (!chunk)
        chunk = malloc(CHUNK_BYTES);
    if (!chunk && memory->oldest)
        chunk = chunk_take(memory, now_ns);
    if (!chunk)
        return -ENOMEM;
    chunk->next = NULL;
    chunk->used = 0;
    if (memory->newest)
        memory->newest->next = chunk;
    else
        memory->oldest = chunk;
    memory->newest = chunk;
    memory->bytes += CHUNK_BYTES;
    return 0;
}

static size_t record_bytes(const struct spex_record *record) {
    return offsetof(struct spex_record, fields) + record->field_count * sizeof(record->fields[0]);
}

int spex_flight_memory_add(struct spex_flight_memory *memory, const struct spex_flight_entry *entry,
                           const struct spex_record *records, uint64_t now_ns) {
    struct spex_flight_entry kept = *entry;
    kept.bytes = 0;
    for (uint32_t r = 0; r < entry->count; r++)
        kept.bytes += (uint32_t)record_bytes(&records[r]);
    size_t needed = sizeof(kept) + kept.bytes;
    size_t room = CHUNK_BYTES - sizeof(struct spex_flight_chunk);
    if (!memory->newest || memory->newest->used + needed > room) {
        int err = chunk_append(memory, now_ns);
        if (err)
            return err;
    }
    struct spex_flight_chunk *chunk = memory->newest;
    char *to = chunk->entries + chunk->used;
    memcpy(to, &kept, sizeof(kept));
    to += sizeof(kept);
    for (uint32_t r = 0; r < entry->count; r++) {
        memcpy(to, &records[r], record_bytes(&records[r]));
        to += record_bytes(&records[r]);
    }
    chunk->used += needed;
    chunk->last_ns = now_ns;
    return 0;
}

void spex_flight_memory_replay(const struct spex_flight_memory *memory, uint32_t owner,
                               void (*take)(void *user, const struct spex_flight_entry *entry,
                                            const struct spex_record *records),
                               void *user) {
    static struct spex_record records[SPEX_STREAM_RECORDS_MAX];
    for (const struct spex_flight_chunk *chunk = memory->oldest; chunk; chunk = chunk->next) {
        const char *from = chunk->entries, *end = from + chunk->used;
        while (from < end) {
            struct spex_flight_entry entry;
            memcpy(&entry, from, sizeof(entry));
            from += sizeof(entry);
            const char *at = from;
            from += entry.bytes;
            if (entry.owner != owner)
                continue;
            for (uint32_t r = 0; r < entry.count; r++) {
                memcpy(&records[r], at, offsetof(struct spex_record, fields));
                memcpy(&records[r], at, record_bytes(&records[r]));
                at += record_bytes(&records[r]);
            }
            take(user, &entry, records);
        }
    }
}
