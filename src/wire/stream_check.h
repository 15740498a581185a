/* SPDX-License-Identifier: MIT */
/* Checks the frames of a program's stream before they are used: a program may send anything. */
#ifndef SPEX_WIRE_STREAM_CHECK_H
#define SPEX_WIRE_STREAM_CHECK_H

#include <stddef.h>

#include "text/error.h"
#include "wire/stream_format.h"

/* Checks a frame of `length` bytes: header, length, order, and its records, unless they are packed
 * (stream_records.h), contexts and threads. Copies the header, of which `collectors` is that of the
 * frames before; 0: none came. 0, or -EPROTO with the reason. */
int spex_stream_check(const char *frame, size_t length, struct spex_stream_header *header,
                      struct spex_error *error);

/* Copies site `number` of a frame of sites, and ends its texts, which a program may have left
 * without an end. */
void spex_stream_take_site(const char *frame, uint32_t number, struct spex_stream_site *site);

/* Copies the first request of a frame of them, and makes its text printable. */
void spex_stream_take_dump(const char *frame, struct spex_stream_dump *dump);

/* The entries of a frame, or what a frame of packed records has before them. */
static inline const void *spex_stream_entries(const char *frame) {
    return frame + sizeof(struct spex_stream_header);
}

#endif
