/* SPDX-License-Identifier: MIT */
/* Tracks of slices. Slices of one track nest: one that would overlap another partly goes to a
 * further track of its thread. Spans belong to no thread: those of a probe have tracks of their own
 * (lanes.h). Slices come in the order of their ends. */
#ifndef SPEX_TOOLS_EXPORT_TRACKS_H
#define SPEX_TOOLS_EXPORT_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spex_tracks;

struct spex_track {
    /* From 1 on, in the order of their appearance; of spans, from SPEX_TRACKS_SPANS on. */
    uint64_t number;
    /* Of its thread's: 0 is the thread's own, and that of a span. */
    unsigned level;
    /* This slice is the track's first. */
    bool fresh;
};

#define SPEX_TRACKS_SPANS (UINT64_C(3) << 40)

/* For spans of so many probes. NULL: no memory. */
struct spex_tracks *spex_tracks_create(size_t probes);
void spex_tracks_destroy(struct spex_tracks *tracks);

/* Finds the track of a slice of a thread, begin <= end. 0; 1: so many overlap that there is none;
 * or -ENOMEM. */
int spex_tracks_slice(struct spex_tracks *tracks, size_t process, uint32_t id, int64_t begin,
                      int64_t end, struct spex_track *track);

/* The same of a span of a probe. */
int spex_tracks_span(struct spex_tracks *tracks, size_t probe, int64_t begin, int64_t end,
                     struct spex_track *track);

/* How many slices have found no track so far. */
uint64_t spex_tracks_left_out(const struct spex_tracks *tracks);

/* Says so on standard error, if there are any. */
void spex_tracks_tell(const struct spex_tracks *tracks);

#endif
