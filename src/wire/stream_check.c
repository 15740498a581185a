/* SPDX-License-Identifier: MIT */
#include "wire/stream_check.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "ring/probe_type.h"
#include "ring/record_layout.h"
#include "text/printable.h"

/* The size of an entry in a frame of this kind; 0 for a kind without entries, -1 for an unknown
 * kind. */
static long entry_bytes(const struct spex_stream_header *header) {
    switch (header->kind) {
    case SPEX_STREAM_HELLO:
    case SPEX_STREAM_PASS:
    case SPEX_STREAM_END:
        return 0;
    case SPEX_STREAM_SITES:
        return sizeof(struct spex_stream_site);
    case SPEX_STREAM_RECORDS:
        return sizeof(struct spex_record);
    case SPEX_STREAM_THREADS:
        return sizeof(struct spex_stream_thread);
    case SPEX_STREAM_CONTEXTS:
        return sizeof(struct spex_stream_context);
    case SPEX_STREAM_DUMP:
        return sizeof(struct spex_stream_dump);
    case SPEX_STREAM_RINGS:
        return sizeof(struct spex_stream_rings);
    default:
        return -1;
    }
}

/* Checks what a frame of packed records has before them. Returns the bytes of a record, or -1. */
static long packed_bytes(const char *frame, size_t length) {
    const struct spex_stream_packed *packed = spex_stream_entries(frame);
    if (length < sizeof(struct spex_stream_header) + sizeof(*packed) ||
        !spex_probe_type_valid(packed->probe_type))
        return -1;
    bool shared = packed->cpu == SPEX_STREAM_NO_CPU;
    uint32_t least = SPEX_HEADER_WORDS + shared;
    bool sound = (shared || packed->cpu <= UINT16_MAX) && packed->words >= least &&
                 packed->words <= least + SPEX_MAX_FIELDS;
    return sound ? (long)(packed->words * sizeof(uint64_t)) : -1;
}

/* Whether a frame is as long as its header says, which has entries where its kind has any. The
 * product is of 64 bits and cannot overflow. */
static bool is_whole(const char *frame, const struct spex_stream_header *header, size_t length) {
    bool packed = header->kind == SPEX_STREAM_PACKED;
    long entry = packed ? packed_bytes(frame, length) : entry_bytes(header);
    size_t before = sizeof(*header) + (packed ? sizeof(struct spex_stream_packed) : 0);
    return entry >= 0 && (entry ? header->count > 0 : !header->count) &&
           length == before + (uint64_t)header->count * (uint64_t)entry;
}

/* Checks a header: magic and version, length, and order (HELLO first, the same number of collectors
 * in all frames). */
static int check_header(const char *frame, const struct spex_stream_header *header, size_t length,
                        uint32_t collectors, struct spex_error *error) {
    if (length < sizeof(*header) || header->magic != SPEX_STREAM_MAGIC)
        return spex_fail(error, -EPROTO, "the program's stream is not spex's");
    if (header->version != SPEX_STREAM_VERSION)
        return spex_fail(error, -EPROTO,
                         "the program's spex speaks stream version %u, this one %u: build both "
                         "with the same release",
                         header->version, SPEX_STREAM_VERSION);
    if (!is_whole(frame, header, length))
        return spex_fail(error, -EPROTO, "the program's stream holds a malformed frame");
    if ((header->kind == SPEX_STREAM_HELLO) != (collectors == 0) || header->collectors < 1 ||
        header->collectors > SPEX_MAX_COLLECTORS ||
        (collectors && header->collectors != collectors) || header->collector >= header->collectors)
        return spex_fail(error, -EPROTO, "the program's stream is out of order");
    return 0;
}

/* Returns whether a record's members are in their ranges: later stages use them as indices. */
static bool record_is_sound(const struct spex_record *record) {
    return spex_probe_type_valid(record->probe_type) &&
           (record->weight >= 1 || record->probe_type == SPEX_KERNEL) &&
           record->field_count <= SPEX_MAX_FIELDS &&
           record->field_count >= spex_probe_type_first_value(record->probe_type) &&
           record->marks < 1u << SPEX_MARKS;
}

/* A parent has a lower number than its child, so paths cannot be circular. */
static bool context_is_sound(const struct spex_stream_context *context) {
    return context->number <= SPEX_CONTEXTS_MAX && context->parent >= SPEX_CONTEXT_ROOT &&
           context->parent < context->number && context->kernel <= UINT16_MAX;
}

/* A frame shorter than a header is completed by zeros, and then refused by its length. */
int spex_stream_check(const char *frame, size_t length, struct spex_stream_header *header,
                      struct spex_error *error) {
    uint32_t collectors = header->collectors;
    memset(header, 0, sizeof(*header));
    memcpy(header, frame, length < sizeof(*header) ? length : sizeof(*header));
    int err = check_header(frame, header, length, collectors, error);
    if (err)
        return err;
    const struct spex_stream_context *contexts = spex_stream_entries(frame);
    const struct spex_stream_thread *threads = spex_stream_entries(frame);
    const struct spex_record *records = spex_stream_entries(frame);
    for (uint32_t r = 0; header->kind == SPEX_STREAM_RECORDS && r < header->count; r++)
        if (!record_is_sound(&records[r]))
            return spex_fail(error, -EPROTO, "the program's stream holds a malformed record");
    for (uint32_t t = 0; header->kind == SPEX_STREAM_THREADS && t < header->count; t++)
        if (threads[t].number >= SPEX_THREAD_NUMBERS)
            return spex_fail(error, -EPROTO, "the program's stream holds a malformed thread");
    for (uint32_t c = 0; header->kind == SPEX_STREAM_CONTEXTS && c < header->count; c++)
        if (!context_is_sound(&contexts[c]))
            return spex_fail(error, -EPROTO, "the program's stream holds a malformed context");
    return 0;
}

void spex_stream_take_dump(const char *frame, struct spex_stream_dump *dump) {
    memcpy(dump, spex_stream_entries(frame), sizeof(*dump));
    dump->why[sizeof(dump->why) - 1] = '\0';
    spex_make_printable(dump->why);
}

void spex_stream_take_site(const char *frame, uint32_t number, struct spex_stream_site *site) {
    const struct spex_stream_site *sites = spex_stream_entries(frame);
    *site = sites[number];
    site->name[sizeof(site->name) - 1] = '\0';
    site->file[sizeof(site->file) - 1] = '\0';
    site->parameters[sizeof(site->parameters) - 1] = '\0';
    site->provider[sizeof(site->provider) - 1] = '\0';
}
