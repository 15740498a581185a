/* SPDX-License-Identifier: MIT */
/* Frames of a profile (wire/control_format.h) in memory, one behind the other, for whoever sends or keeps them. */
#ifndef SPEX_OBSERVE_WRITTEN_FRAMES_H
#define SPEX_OBSERVE_WRITTEN_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct spex_written_frames {
    /* To be freed. */
    char *data;
    size_t bytes, room;
};

/* Room for one more frame behind the others. NULL: no memory. */
char *spex_written_frames_room(struct spex_written_frames *frames);

/* Adds a frame of so many entries. 0 or -ENOMEM. */
int spex_written_frames_add(struct spex_written_frames *frames, uint16_t kind, const void *entries,
                            size_t entry_bytes, size_t count);

/* The frames of a profile that a trace keeps: without values, which follow from its records. In place of those before. 0 or
 * -ENOMEM. */
int spex_written_frames_of(struct spex_written_frames *frames, const struct spex_profile *profile);

#endif
