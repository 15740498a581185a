/* SPDX-License-Identifier: MIT */
/* The packets of a stream's file. Headers are checked when the file is indexed: a packet in the
 * index lies within its file, and its times are in order. Bytes that are no packet are told, and
 * the next packet behind them is looked for. */
#ifndef SPEX_TRACE_READ_PACKETS_H
#define SPEX_TRACE_READ_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/read/problems.h"

/* More than writers make; a longer one is taken for damage. */
#define SPEX_PACKET_PLACE_BYTES_MAX (64u << 20)

struct spex_packet_place {
    uint64_t begin, end; /* ticks of its first and last event */
    uint64_t offset;     /* of its events in the file */
    uint32_t bytes;      /* of its events */
    uint32_t file;       /* the caller's */
    uint32_t cpu;
    uint32_t thread; /* of events that do not tell theirs */
};

struct spex_packet_places {
    struct spex_packet_place *list;
    size_t count, room;
    /* The trace has no end, as its journal tells: it may end within a packet. */
    bool unfinished;
};

/* Appends the packets of a file whose trace has this uuid. *discarded: as its last packet tells. A
 * file that cannot be read is a problem, unless it is gone. 0; or -ENOMEM, or a negative errno
 * value where there are too few descriptors, with the reason. */
int spex_packets_index(const char *path, const uint8_t uuid[16], uint32_t file,
                       struct spex_packet_places *packets, uint64_t *discarded,
                       struct spex_recording_problems *problems, struct spex_error *error);

#endif
