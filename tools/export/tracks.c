/* SPDX-License-Identifier: MIT */
/* A track remembers its outermost slices, from the earliest to the last; what lies within one of
 * them can overlap no later slice partly, since that ends later than all. Of very many outermost
 * slices the older ones are remembered as pairs, with the gap between two as a part of them. So a
 * slice may go to a further track that would not have had to, and memory is bounded. */
#include "tools/export/tracks.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/common/complain.h"
#include "tools/export/lanes.h"

/* OUTER_MAX: slices remembered of a track. LEVELS_MAX: tracks of a thread. */
enum { OUTER_MAX = 4096, LEVELS_MAX = 256 };

struct outer {
    int64_t begin, end;
};

struct level {
    uint64_t number;
    struct outer *outer;
    size_t count, room;
};

struct thread {
    size_t process;
    uint32_t id;
    bool used;
    unsigned levels;
    struct level *level;
};

/* A table by process and thread; at most half of it is used. */
struct spex_tracks {
    struct thread *threads;
    size_t size, count;
    uint64_t tracks;
    struct thread *last;
    struct spex_lanes *lanes;
    uint64_t left_out;
};

struct spex_tracks *spex_tracks_create(size_t probes) {
    struct spex_tracks *tracks = calloc(1, sizeof(*tracks));
    if (tracks)
        tracks->lanes = spex_lanes_create(probes);
    if (tracks && tracks->lanes)
        return tracks;
    free(tracks);
    return NULL;
}

void spex_tracks_destroy(struct spex_tracks *tracks) {
    for (size_t t = 0; tracks && t < tracks->size; t++) {
        for (unsigned l = 0; l < tracks->threads[t].levels; l++)
            free(tracks->threads[t].level[l].outer);
        free(tracks->threads[t].level);
    }
    if (tracks) {
        free(tracks->threads);
        spex_lanes_destroy(tracks->lanes);
    }
    free(tracks);
}

/* The place of a thread in a table: its own, or the free one where it belongs. */
static struct thread *place_in(struct thread *threads, size_t size, size_t process, uint32_t id) {
    uint64_t hash = ((uint64_t)process << 32 | id) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = hash >> 32 & (size - 1);; at = (at + 1) & (size - 1))
        if (!threads[at].used || (threads[at].process == process && threads[at].id == id))
            return &threads[at];
}

static int table_grow(struct spex_tracks *tracks) {
    size_t size = tracks->size ? tracks->size * 2 : 64;
    struct thread *threads = calloc(size, sizeof(*threads));
    if (!threads)
        return -ENOMEM;
    for (size_t t = 0; t < tracks->size; t++)
        if (tracks->threads[t].used)
            *place_in(threads, size, tracks->threads[t].process, tracks->threads[t].id) =
                tracks->threads[t];
    free(tracks->threads);
    tracks->threads = threads;
    tracks->size = size;
    return 0;
}

/* NULL: no memory. */
static struct thread *thread_of(struct spex_tracks *tracks, size_t process, uint32_t id) {
    if (tracks->last && tracks->last->process == process && tracks->last->id == id)
        return tracks->last;
    if (2 * tracks->count >= tracks->size && table_grow(tracks) != 0)
        return NULL;
    struct thread *thread = place_in(tracks->threads, tracks->size, process, id);
    if (!thread->used) {
        *thread = (struct thread){.process = process, .id = id, .used = true};
        tracks->count++;
    }
    tracks->last = thread;
    return thread;
}

/* Adds a track to a thread's. NULL: no memory. */
static struct level *level_add(struct spex_tracks *tracks, struct thread *thread) {
    struct level *grown = realloc(thread->level, (thread->levels + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    thread->level = grown;
    struct level *level = &grown[thread->levels++];
    *level = (struct level){.number = ++tracks->tracks};
    return level;
}

/* How many of the outermost slices begin at `begin` or before. */
static size_t outer_until(const struct level *level, int64_t begin) {
    size_t low = 0, high = level->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (level->outer[middle].begin <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether the slice overlaps none of the track's partly. Slices that begin together are kept apart,
 * since readers tell by the order of beginnings which one is within the other. */
static bool nests(const struct level *level, int64_t begin) {
    size_t until = outer_until(level, begin);
    return until == 0 ||
           (level->outer[until - 1].begin < begin && level->outer[until - 1].end <= begin);
}

static void pairs_join(struct level *level) {
    size_t kept = 0, half = level->count / 2;
    for (size_t o = 0; o < level->count; kept++) {
        level->outer[kept] = level->outer[o];
        if (o < half)
            level->outer[kept].end = level->outer[o + 1].end;
        o += o < half ? 2 : 1;
    }
    level->count = kept;
}

static int outer_add(struct level *level, int64_t begin, int64_t end) {
    level->count = outer_until(level, begin);
    if (level->count == OUTER_MAX)
        pairs_join(level);
    if (!level->outer || level->count == level->room) {
        size_t room = level->room ? level->room * 2 : 16;
        void *grown = realloc(level->outer, room * sizeof(*level->outer));
        if (!grown)
            return -ENOMEM;
        level->outer = grown;
        level->room = room;
    }
    level->outer[level->count++] = (struct outer){begin, end};
    return 0;
}

static int slice_place(struct spex_tracks *tracks, size_t process, uint32_t id, int64_t begin,
                       int64_t end, struct spex_track *track) {
    struct thread *thread = thread_of(tracks, process, id);
    unsigned l = 0;
    if (!thread)
        return -ENOMEM;
    while (l < thread->levels && !nests(&thread->level[l], begin))
        l++;
    if (l == LEVELS_MAX)
        return 1;
    bool fresh = l == thread->levels;
    struct level *level = fresh ? level_add(tracks, thread) : &thread->level[l];
    if (!level)
        return -ENOMEM;
    *track = (struct spex_track){level->number, l, fresh};
    return outer_add(level, begin, end);
}

int spex_tracks_slice(struct spex_tracks *tracks, size_t process, uint32_t id, int64_t begin,
                      int64_t end, struct spex_track *track) {
    int err = slice_place(tracks, process, id, begin, end, track);
    tracks->left_out += err > 0;
    return err;
}

int spex_tracks_span(struct spex_tracks *tracks, size_t probe, int64_t begin, int64_t end,
                     struct spex_track *track) {
    struct spex_lane lane;
    int err = spex_lanes_span(tracks->lanes, probe, begin, end, &lane);
    tracks->left_out += err > 0;
    if (!err)
        *track = (struct spex_track){SPEX_TRACKS_SPANS + lane.number, 0, lane.fresh};
    return err;
}

uint64_t spex_tracks_left_out(const struct spex_tracks *tracks) {
    return tracks->left_out;
}

void spex_tracks_tell(const struct spex_tracks *tracks) {
    if (tracks->left_out)
        spex_complain(
            0,
            "%llu slices were left out: over %d of a thread, or spans of a probe over %d, "
            "overlap",
            (unsigned long long)tracks->left_out, LEVELS_MAX, SPEX_LANES_MAX);
}
