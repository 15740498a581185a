/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "trace/trace_stream.h"
#include "base/memory/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Packets that are written at once. */
#define ROOM (16 * SPEX_TRACE_PACKET_BYTES)

/* Where the room is bounded, files that are written to take a part of it, 1/CURRENT_SHARE, as only
 * others can be removed. */
enum { CURRENT_SHARE = 4 };

int spex_trace_stream_open(struct spex_trace_stream *stream, const char *directory,
                           const uint8_t *uuid, uint32_t cpu, uint64_t rotate_bytes) {
    *stream = (struct spex_trace_stream){
        .cpu = cpu, .directory = directory, .rotate_bytes = rotate_bytes};
    return spex_packets_open(&stream->packets, ROOM, uuid, cpu);
}

void spex_trace_stream_free(struct spex_trace_stream *stream) {
    spex_waiting_free(&stream->waiting);
    spex_packets_free(&stream->packets);
    spex_free(stream->file.path);
}

/* NULL: no memory. */
static char *file_path(const struct spex_trace_stream *stream) {
    char *path;
    int length = stream->cpu == SPEX_TRACE_CPU_NONE
                     ? spex_asprintf(&path, "%s/late_%u", stream->directory, stream->number)
                     : spex_asprintf(&path, "%s/cpu_%u_%u", stream->directory,
                                     (unsigned)stream->cpu, stream->number);
    return length < 0 ? NULL : path;
}

/* Whether the file, one of the current ones, has its size, with what is written to it at the next
 * time. */
static bool is_full(const struct spex_trace_stream *stream, const struct spex_trace_disk *disk) {
    uint64_t bytes = stream->file.bytes + ROOM;
    return (stream->rotate_bytes && bytes > stream->rotate_bytes) ||
           (disk->keep && bytes > disk->keep / CURRENT_SHARE / disk->current);
}

void spex_trace_stream_rotate(struct spex_trace_stream *stream, struct spex_trace_disk *disk) {
    if (!stream->file.bytes)
        return;
    spex_trace_file_leave(disk, &stream->file);
    disk->current--;
    stream->number++;
    spex_packets_restart(&stream->packets);
}

int spex_trace_stream_write(struct spex_trace_stream *stream, struct spex_trace_disk *disk) {
    struct spex_packets *packets = &stream->packets;
    spex_packets_close(packets);
    if (!packets->closed)
        return 0;
    if (!stream->file.path && !(stream->file.path = file_path(stream)))
        return -ENOMEM;
    bool first = !stream->file.bytes;
    int err = spex_trace_file_append(disk, &stream->file, packets->bytes, packets->closed);
    if (err)
        return err;
    disk->current += first;
    spex_packets_taken(packets);
    if (is_full(stream, disk))
        spex_trace_stream_rotate(stream, disk);
    return 0;
}
