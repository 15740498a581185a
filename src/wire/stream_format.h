/* SPDX-License-Identifier: MIT */
/* The stream from a program's collectors to a spex command: one frame a packet on a Unix-domain
 * SOCK_SEQPACKET socket, host byte order (both ends are on one machine). The program has connected
 * (SPEX_OUT=unix:PATH), or the command, to its control socket.
 *
 *   program ──► HELLO, RINGS, SITES…, then CONTEXTS, THREADS, PACKED, PASS and DUMP in any order, END ──► command
 *
 * A frame is its header and, right behind it, `count` entries of the kind's type. */
#ifndef SPEX_WIRE_STREAM_FORMAT_H
#define SPEX_WIRE_STREAM_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#define SPEX_STREAM_MAGIC       0x58455053u /* "SPEX" */
#define SPEX_STREAM_VERSION     7
#define SPEX_STREAM_FRAME_BYTES 65536

/* Most collectors that send one stream. */
#define SPEX_MAX_COLLECTORS 64

enum spex_stream_kind {
    /* No entries; first, once; in each connection where the program connects again. */
    SPEX_STREAM_HELLO = 1,
    SPEX_STREAM_SITES,   /* struct spex_stream_site */
    SPEX_STREAM_RECORDS, /* struct spex_record; those from rings come PACKED */
    SPEX_STREAM_PASS, /* no entries: collector `collector` has handed over all before `watermark` */
    SPEX_STREAM_END,  /* no entries: the program has stopped spex in an orderly way */
    SPEX_STREAM_CONTEXTS, /* struct spex_stream_context, before the first record in the context */
    /* struct spex_stream_dump, one: the program has called spex_dump. Only to commands that take
     * such frames: those that it has called (SPEX_OUT=record:PATH), and those that have said so
     * (SPEX_CONTROL_STREAM_DUMPS). */
    SPEX_STREAM_DUMP,
    /* struct spex_stream_rings, one, with the descriptor of their file: only to the command that
     * has started the program to be recorded (SPEX_OUT=record:PATH). */
    SPEX_STREAM_RINGS,
    /* struct spex_stream_packed, and records from one ring as they lie in it
     * (ring/record_layout.h), oldest first */
    SPEX_STREAM_PACKED,
    SPEX_STREAM_THREADS, /* struct spex_stream_thread, before the first packed record of the thread */
};

struct spex_stream_header {
    uint32_t magic;
    uint16_t version;
    uint16_t kind;
    uint32_t count;
    uint32_t collector;  /* PASS: which one, from 0 */
    uint32_t collectors; /* how many there are */
    uint32_t process_id;
    /* PASS: ticks. HELLO: when the stream began, the same in each of its connections, or 0. */
    uint64_t watermark;
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC when the frame was sent */
    uint64_t produced;     /* totals of the process so far */
    uint64_t consumed;
    /* Records lost in rings, never made as there was no room for their thread, or left out as this
     * reader was too slow. */
    uint64_t lost;
};

#define SPEX_STREAM_TEXT_BYTES 128
#define SPEX_STREAM_NO_ID      UINT32_MAX

struct spex_stream_site {
    uint32_t index;
    uint32_t line;
    uint32_t subsample;
    uint16_t probe_id; /* the probe's number in the process (site_info.h), as in records */
    uint16_t probe_type;
    char name[SPEX_STREAM_TEXT_BYTES];       /* empty: unnamed */
    char file[SPEX_STREAM_TEXT_BYTES];       /* its end when it is longer */
    char parameters[SPEX_STREAM_TEXT_BYTES]; /* KERNEL: "n, m"; its end when it is longer */
    char provider[SPEX_STREAM_TEXT_BYTES];   /* empty: not known */
    /* 1 + the developer's id; 0: it is probe_id; SPEX_STREAM_NO_ID: none. */
    uint32_t declared;
    uint32_t values; /* that a record stores beside its weight */
    uint32_t kinds;  /* of the fields of its records, as these have them */
};

/* The developer's id; -1: the probe has a name in its place. */
static inline int32_t spex_stream_site_id(const struct spex_stream_site *site) {
    if (site->declared > UINT16_MAX + 1u)
        return -1;
    return site->declared ? (int32_t)site->declared - 1 : site->probe_id;
}

/* A node of the tree of calling contexts. */
struct spex_stream_context {
    uint32_t number; /* above SPEX_CONTEXT_ROOT */
    uint32_t parent; /* a lower one */
    uint32_t kernel; /* the probe's number */
};

/* Whose number it is in packed records (ring/record_layout.h) from now on. */
struct spex_stream_thread {
    uint32_t number;
    uint32_t thread_id; /* the kernel's */
};

struct spex_stream_dump {
    uint64_t ticks; /* when it was called */
    char why[SPEX_STREAM_TEXT_BYTES];
};

/* The rings of the program (ring/rings.h), by which they can be read from their file. */
struct spex_stream_rings {
    uint64_t bytes;
    uint32_t records; /* in each ring */
    uint32_t cpus;
    uint32_t commit; /* enum spex_commit */
    uint32_t types;
};

#define SPEX_STREAM_NO_CPU UINT32_MAX

/* What PACKED has between its header and its records. */
struct spex_stream_packed {
    uint32_t cpu; /* the ring's; SPEX_STREAM_NO_CPU: that of each record is its last word */
    uint32_t probe_type;
    uint32_t words; /* of each record */
    uint32_t lost;  /* the first record's, as in struct spex_record */
    uint32_t gap;   /* likewise */
    uint32_t reserved;
};

/* Most records in a frame of them, each of so many words, of which there are two at least. */
#define SPEX_STREAM_PACKED_MAX(words)                                                              \
    ((SPEX_STREAM_FRAME_BYTES - sizeof(struct spex_stream_header) -                                \
      sizeof(struct spex_stream_packed)) /                                                         \
     ((words) * sizeof(uint64_t)))
#define SPEX_STREAM_RECORDS_MAX SPEX_STREAM_PACKED_MAX(2)

#define SPEX_STREAM_ENTRIES_MAX(type)                                                              \
    ((SPEX_STREAM_FRAME_BYTES - sizeof(struct spex_stream_header)) / sizeof(type))

#endif
