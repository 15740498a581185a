/* SPDX-License-Identifier: MIT */
#include "wire/stream_records.h"

#include <errno.h>
#include <stdbool.h>

#include "ring/probe_type.h"
#include "wire/stream_check.h"

void spex_stream_probes_note(struct spex_stream_probes *probes,
                             const struct spex_stream_site *site) {
    if (site->index < SPEX_MAX_SITES && spex_probe_type_valid(site->probe_type) &&
        site->values <= SPEX_MAX_FIELDS &&
        spex_probe_type_first_value(site->probe_type) + site->values <= SPEX_MAX_FIELDS)
        probes->of[site->index] =
            (struct spex_packed_probe){site->probe_id, (uint8_t)site->values, site->probe_type};
}

/* Unpacks all of a frame. False: there is one of an unknown site, without a weight, or with more
 * values than words. */
static bool records_unpack(const struct spex_stream_probes *probes,
                           const struct spex_stream_packed *packed, const uint64_t *words,
                           uint32_t count, struct spex_record *room) {
    bool shared = packed->cpu == SPEX_STREAM_NO_CPU;
    uint32_t values = packed->words - SPEX_HEADER_WORDS - shared;
    bool sound = true;
    for (uint32_t r = 0; r < count; r++, words += packed->words) {
        struct spex_packed_probe probe = probes->of[spex_packed_site(words[1])];
        if (probe.probe_type != packed->probe_type || probe.values > values)
            return false;
        uint64_t cpu = shared ? words[packed->words - 1] : packed->cpu;
        spex_record_unpack(words, (unsigned)cpu, probe, &room[r]);
        sound &= cpu <= UINT16_MAX && (room[r].weight || probe.probe_type == SPEX_KERNEL);
    }
    return sound;
}

int spex_stream_records(const struct spex_stream_probes *probes, const char *frame,
                        struct spex_record *room, const struct spex_record **records,
                        struct spex_error *error) {
    const struct spex_stream_header *header = (const void *)frame;
    const struct spex_stream_packed *packed = spex_stream_entries(frame);
    *records = header->kind == SPEX_STREAM_RECORDS ? spex_stream_entries(frame) : NULL;
    if (header->kind != SPEX_STREAM_PACKED)
        return 0;
    if (!records_unpack(probes, packed, (const uint64_t *)(packed + 1), header->count, room))
        return spex_fail(error, -EPROTO, "the program's stream holds a malformed record");
    room[0].lost = packed->lost;
    room[0].gap = packed->gap != 0;
    *records = room;
    return 0;
}
