/* SPDX-License-Identifier: MIT */
/* Frames of answers. `struct spex_reply` is a cursor over the profile: the kind of the next frame
 * and the position in the sites or probes. Each frame is made from the state of the moment, so that
 * an answer needs one frame's memory, however many probes there are. The order is PROCESS, TYPES,
 * SITES, then for each probe PROBE and for each of its series VALUES and SPREAD, then DONE. */
#include "serve/reply.h"

#include <string.h>

#include "collect/metrics.h"
#include "serve/own_profile.h"
#include "site/probe_state.h"
#include "site/registry.h"
#include "wire/profile_frames.h"

/* Room for entries in a frame, behind its header. */
#define ENTRIES_BYTES (SPEX_CONTROL_FRAME_BYTES - sizeof(struct spex_control_frame))

void spex_reply_done(struct spex_reply *reply, uint32_t number, int status) {
    *reply = (struct spex_reply){.number = number, .next = SPEX_CONTROL_DONE, .status = status};
}

void spex_reply_profile(struct spex_reply *reply, uint32_t number, bool final) {
    *reply = (struct spex_reply){
        .number = number, .next = SPEX_CONTROL_PROCESS, .flags = final ? SPEX_CONTROL_FINAL : 0};
}

void spex_reply_status(struct spex_reply *reply, uint32_t number) {
    *reply =
        (struct spex_reply){.number = number, .next = SPEX_CONTROL_PROCESS, .of_process = true};
}

/* As spex_frame_finish, of the reply's number, status and flags. */
static size_t finish_frame(char *frame, const struct spex_reply *reply, uint16_t kind,
                           size_t entry_bytes, size_t count) {
    struct spex_control_frame head = {.kind = kind,
                                      .number = reply->number,
                                      .entry_bytes = (uint32_t)entry_bytes,
                                      .count = (uint32_t)count};
    if (kind == SPEX_CONTROL_DONE) {
        head.status = reply->status;
        head.flags = reply->flags;
        head.next_ms = reply->next_ms;
    }
    return spex_frame_finish(frame, &head);
}

static void next_kind(struct spex_reply *after, uint16_t kind) {
    after->next = kind;
    after->position = 0;
    after->part = 0;
}

static size_t process_frame(struct spex_reply *after, char *frame) {
    struct spex_profile_process process;
    spex_profile_process_now(&process);
    memcpy(frame + sizeof(struct spex_control_frame), &process, sizeof(process));
    next_kind(after, after->of_process ? SPEX_CONTROL_DONE : SPEX_CONTROL_TYPES);
    return finish_frame(frame, after, SPEX_CONTROL_PROCESS, sizeof(process), 1);
}

static size_t types_frame(struct spex_reply *after, char *frame) {
    struct spex_profile_type type;
    char *to = frame + sizeof(struct spex_control_frame);
    for (unsigned n = 0; n < SPEX_PROFILE_TYPES; n++) {
        spex_profile_type_now(n, &type);
        memcpy(to + n * sizeof(type), &type, sizeof(type));
    }
    next_kind(after, SPEX_CONTROL_SITES);
    return finish_frame(frame, after, SPEX_CONTROL_TYPES, sizeof(type), SPEX_PROFILE_TYPES);
}

/* As many sites as fit into a frame; the next frame goes on with the rest. Sites of regions are no
 * probes and are left out. */
static size_t sites_frame(struct spex_reply *after, char *frame) {
    struct spex_profile_site site;
    size_t count = 0;
    char *to = frame + sizeof(struct spex_control_frame);
    uint32_t sites = spex_sites_count();
    while (after->position < sites && (count + 1) * sizeof(site) <= ENTRIES_BYTES) {
        if (spex_site_is_region(spex_site_info(after->position++)))
            continue;
        spex_profile_site_now(after->position - 1, &site);
        memcpy(to + count++ * sizeof(site), &site, sizeof(site));
    }
    if (after->position == sites) {
        next_kind(after, SPEX_CONTROL_PROBE);
        spex_metrics_lock();
        spex_metrics_spans();
        spex_metrics_unlock();
    }
    return finish_frame(frame, after, SPEX_CONTROL_SITES, sizeof(site), count);
}

/* Returns 0 where no probe is left; the caller goes on with the next kind. */
static size_t probe_frame(struct spex_reply *after, char *frame) {
    struct spex_profile_row row;
    after->position = spex_profile_next_probe(after->position);
    if (after->position >= spex_sites_count()) {
        next_kind(after, SPEX_CONTROL_DONE);
        return 0;
    }
    spex_metrics_lock();
    spex_profile_probe_now(after->position, &row);
    spex_metrics_unlock();
    memcpy(frame + sizeof(struct spex_control_frame), &row.probe, sizeof(row.probe));
    after->next = SPEX_CONTROL_VALUES;
    after->part = 0;
    return finish_frame(frame, after, SPEX_CONTROL_PROBE, sizeof(row.probe), 1);
}

/* The values in part number `part` of a row, whose number in frames is *series: each series has a
 * part for its values, and one for its losses. NULL: there are none. */
static const struct spex_values *part_of(const struct spex_profile_row *row, unsigned part,
                                         unsigned *series) {
    unsigned s = part / 2;
    *series = part % 2 ? s | SPEX_CONTROL_LOSSES : s;
    return part % 2 ? row->losses[s] : row->values[s];
}

/* The probe's values as they are now, which may be newer than its PROBE frame. A part without
 * values has no SPREAD frame either, though values may be there by then: the first loss comes at
 * any time. */
static size_t values_frame(struct spex_reply *after, char *frame) {
    struct spex_profile_row row;
    size_t bytes = 0;
    unsigned series;
    spex_metrics_lock();
    spex_metrics_series(after->position, &row);
    if (after->part < 2u * row.probe.series) {
        const struct spex_values *values = part_of(&row, after->part, &series);
        if (values) {
            bytes = spex_frame_values(values, series, after->number, frame);
            after->scale = values->spread.scale;
            after->next = SPEX_CONTROL_SPREAD;
        } else {
            after->part++;
        }
    } else {
        after->next = SPEX_CONTROL_PROBE;
        after->position++;
    }
    spex_metrics_unlock();
    return bytes;
}

/* No frame where all rows are empty, since every execution was recorded, or where they have become
 * those of another scale. */
static size_t spread_frame(struct spex_reply *after, char *frame) {
    struct spex_profile_row row;
    size_t bytes = 0;
    spex_metrics_lock();
    spex_metrics_series(after->position, &row);
    if (after->part < 2u * row.probe.series) {
        unsigned series;
        const struct spex_values *values = part_of(&row, after->part, &series);
        if (values && values->spread.scale == after->scale)
            bytes = spex_frame_spread(&values->spread, series, after->number, frame);
    }
    spex_metrics_unlock();
    after->next = SPEX_CONTROL_VALUES;
    after->part++;
    return bytes;
}

static size_t done_frame(struct spex_reply *after, char *frame) {
    size_t length = strlen(after->text);
    memcpy(frame + sizeof(struct spex_control_frame), after->text, length);
    after->next = 0;
    return finish_frame(frame, after, SPEX_CONTROL_DONE, 1, length);
}

/* A part that has nothing to say makes no frame, and the next part follows in the same call. */
size_t spex_reply_frame(const struct spex_reply *reply, struct spex_reply *after,
                        char frame[SPEX_CONTROL_FRAME_BYTES]) {
    size_t bytes = 0;
    *after = *reply;
    while (bytes == 0 && after->next) {
        switch (after->next) {
        case SPEX_CONTROL_PROCESS:
            bytes = process_frame(after, frame);
            break;
        case SPEX_CONTROL_TYPES:
            bytes = types_frame(after, frame);
            break;
        case SPEX_CONTROL_SITES:
            bytes = sites_frame(after, frame);
            break;
        case SPEX_CONTROL_PROBE:
            bytes = probe_frame(after, frame);
            break;
        case SPEX_CONTROL_VALUES:
            bytes = values_frame(after, frame);
            break;
        case SPEX_CONTROL_SPREAD:
            bytes = spread_frame(after, frame);
            break;
        default:
            bytes = done_frame(after, frame);
        }
    }
    return bytes;
}
