/* SPDX-License-Identifier: MIT */
/* One stream of a trace: the records that wait, the packets that are made of them, and the file
 * that these are written to. */
#ifndef SPEX_TRACE_TRACE_STREAM_H
#define SPEX_TRACE_TRACE_STREAM_H

#include "trace/packets.h"
#include "trace/trace_disk.h"
#include "trace/waiting.h"

struct spex_trace_stream {
    /* SPEX_TRACE_CPU_NONE: records of any CPU that come late. */
    uint32_t cpu;
    struct spex_waiting waiting;
    struct spex_packets packets;
    /* Where the file's name begins, and the number that ends it. */
    const char *directory;
    unsigned number;
    struct spex_trace_file file;
    uint64_t rotate_bytes;
};

/* 0 or -ENOMEM. `directory` and `uuid` stay. */
int spex_trace_stream_open(struct spex_trace_stream *stream, const char *directory,
                           const uint8_t *uuid, uint32_t cpu, uint64_t rotate_bytes);
void spex_trace_stream_free(struct spex_trace_stream *stream);

/* Ends the packet that is being made, and writes all. 0 or a negative errno value. */
int spex_trace_stream_write(struct spex_trace_stream *stream, struct spex_trace_disk *disk);

/* The stream goes on in a new file. All packets are written. */
void spex_trace_stream_rotate(struct spex_trace_stream *stream, struct spex_trace_disk *disk);

#endif
