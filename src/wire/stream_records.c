/* SPDX-License-Identifier: MIT */
#include "wire/stream_records.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "ring/probe_type.h"
#include "wire/stream_check.h"

void spex_stream_probes_note(struct spex_stream_probes *probes,
                             const struct spex_stream_site *site) {
    if (site->index < SPEX_MAX_SITES && spex_probe_type_valid(site->probe_type) &&
        site->values <= SPEX_MAX_FIELDS &&
        spex_probe_type_first_value(site->probe_type) + site->values <= SPEX_MAX_FIELDS)
        probes->of[site->index] = (struct spex_packed_probe){site->probe_id, (uint8_t)site->values,
                                                             site->probe_type, site->kinds};
}

void spex_stream_threads_note(struct spex_stream_probes *probes, const char *frame) {
    const struct spex_stream_header *header = (const void *)frame;
    const struct spex_stream_thread *threads = spex_stream_entries(frame);
    for (uint32_t t = 0; header->kind == SPEX_STREAM_THREADS && t < header->count; t++)
        probes->threads[threads[t].number] = threads[t].thread_id;
}

/* Finds the kind of a record. False: it is of an unknown site, without a weight, or with more values
 * than words. */
static bool kind_find(const struct spex_stream_probes *probes,
                      const struct spex_stream_packed *packed, const uint64_t *words,
                      struct spex_packed_kind *kind) {
    bool shared = packed->cpu == SPEX_STREAM_NO_CPU;
    uint64_t cpu = shared ? words[packed->words - 1] : packed->cpu;
    struct spex_packed_probe probe = probes->of[spex_packed_site(words[1])];
    *kind = spex_packed_kind(words[1], (unsigned)cpu, probes->threads[spex_packed_thread(words[1])],
                             probe);
    return probe.probe_type == packed->probe_type &&
           probe.values <= packed->words - SPEX_HEADER_WORDS - shared && cpu <= UINT16_MAX &&
           (kind->head.weight || probe.probe_type == SPEX_KERNEL);
}

/* Unpacks all of a frame. False: there is a malformed record. */
static bool records_unpack(const struct spex_stream_probes *probes,
                           const struct spex_stream_packed *packed, const uint64_t *words,
                           uint32_t count, struct spex_record *room) {
    const bool shared = packed->cpu == SPEX_STREAM_NO_CPU;
    struct spex_packed_kind kind = {.first = 0};
    uint64_t last = 0;
    for (uint32_t r = 0; r < count; r++, words += packed->words) {
        if ((words[1] != last || shared || r == 0) && !kind_find(probes, packed, words, &kind))
            return false;
        last = words[1];
        spex_record_unpack(words, &kind, &room[r]);
    }
    return true;
}

int spex_stream_records(const struct spex_stream_probes *probes, const char *frame,
                        struct spex_record *room, const struct spex_record **records,
                        struct spex_error *error) {
    const struct spex_stream_header *header = (const void *)frame;
    const struct spex_stream_packed *packed = spex_stream_entries(frame);
    *records = header->kind == SPEX_STREAM_RECORDS ? room : NULL;
    if (*records)
        memcpy(room, spex_stream_entries(frame), header->count * sizeof(*room));
    if (header->kind != SPEX_STREAM_PACKED)
        return 0;
    if (!records_unpack(probes, packed, (const uint64_t *)(packed + 1), header->count, room))
        return spex_fail(error, -EPROTO, "the program's stream holds a malformed record");
    room[0].lost = packed->lost;
    room[0].gap = packed->gap != 0;
    *records = room;
    return 0;
}
