/* SPDX-License-Identifier: MIT */
#include "observe/written_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/profile_frames.h"

/* Entries of a frame have this room. */
#define ENTRIES_BYTES (SPEX_CONTROL_FRAME_BYTES - sizeof(struct spex_control_frame))

char *spex_written_frames_room(struct spex_written_frames *frames) {
    size_t room = frames->bytes + SPEX_CONTROL_FRAME_BYTES;
    if (room > frames->room) {
        char *grown = realloc(frames->data, 2 * room);
        if (!grown)
            return NULL;
        frames->data = grown;
        frames->room = 2 * room;
    }
    return frames->data + frames->bytes;
}

int spex_written_frames_add(struct spex_written_frames *frames, uint16_t kind, const void *entries,
                            size_t entry_bytes, size_t count) {
    char *frame = spex_written_frames_room(frames);
    struct spex_control_frame head = {
        .kind = kind, .entry_bytes = (uint32_t)entry_bytes, .count = (uint32_t)count};
    if (!frame)
        return -ENOMEM;
    if (count)
        memcpy(frame + sizeof(head), entries, entry_bytes * count);
    frames->bytes += spex_frame_finish(frame, &head);
    return 0;
}

static int add_sites(struct spex_written_frames *frames, const struct spex_profile *profile) {
    const size_t most = ENTRIES_BYTES / sizeof(profile->sites[0]);
    int err = 0;
    for (size_t first = 0; !err && first < profile->site_count; first += most) {
        size_t left = profile->site_count - first;
        err = spex_written_frames_add(frames, SPEX_CONTROL_SITES, profile->sites + first,
                                      sizeof(profile->sites[0]), left < most ? left : most);
    }
    return err;
}

int spex_written_frames_of(struct spex_written_frames *frames, const struct spex_profile *profile) {
    frames->bytes = 0;
    int err = spex_written_frames_add(frames, SPEX_CONTROL_PROCESS, &profile->process,
                                      sizeof(profile->process), 1);
    err = err ? err
              : spex_written_frames_add(frames, SPEX_CONTROL_TYPES, profile->types,
                                        sizeof(profile->types[0]), profile->type_count);
    err = err ? err : add_sites(frames, profile);
    for (size_t r = 0; !err && r < profile->row_count; r++)
        err = spex_written_frames_add(frames, SPEX_CONTROL_PROBE, &profile->rows[r].probe,
                                      sizeof(profile->rows[r].probe), 1);
    return err;
}
