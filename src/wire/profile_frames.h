/* SPDX-License-Identifier: MIT */
/* Writes frames of profiles (control_format.h), for whoever sends one. */
#ifndef SPEX_WIRE_PROFILE_FRAMES_H
#define SPEX_WIRE_PROFILE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/control_format.h"

/* Bytes of the frame of this head, with what stands behind it. */
static inline uint64_t spex_frame_bytes(const struct spex_control_frame *head) {
    uint64_t entries = (uint64_t)head->entry_bytes * head->count;
    if (head->kind == SPEX_CONTROL_VALUES)
        entries = head->entry_bytes + (uint64_t)head->count * sizeof(struct spex_control_bucket);
    return sizeof(*head) + entries;
}

/* Writes the head, with magic and version, before the entries that stand behind it already.
 * Returns the frame's bytes. The bytes of an entry are in the head, so that readers of other
 * releases can skip members that they do not know. */
size_t spex_frame_finish(char *frame, struct spex_control_frame *head);

/* Writes one series: its sums, and the buckets of its histogram that are not empty. Returns the
 * frame's bytes. */
size_t spex_frame_values(const struct spex_values *values, unsigned series, uint32_t number,
                         char frame[SPEX_CONTROL_FRAME_BYTES]);

/* Writes the rows of the same series that are not all 0. Returns the frame's bytes; 0: no row is
 * left, and there is no frame. */
size_t spex_frame_spread(const struct spex_variance *spread, unsigned series, uint32_t number,
                         char frame[SPEX_CONTROL_FRAME_BYTES]);

#endif
