/* SPDX-License-Identifier: MIT */
/* The records of a stream's frames, as whoever reads the stream has them. */
#ifndef SPEX_WIRE_STREAM_RECORDS_H
#define SPEX_WIRE_STREAM_RECORDS_H

#include <spex/record.h>

#include "ring/record_unpack.h"
#include "text/error.h"
#include "wire/stream_format.h"

/* What the stream has told that packed records do not say themselves: of their sites, by index, of
 * type 0 where it is not known; and the kernel's ids of their threads, by number. */
struct spex_stream_probes {
    struct spex_packed_probe of[SPEX_PACKED_SITE_MASK + 1];
    uint32_t threads[SPEX_THREAD_NUMBERS];
};

/* Notes a site. One that cannot be is left out, and so are its records. */
void spex_stream_probes_note(struct spex_stream_probes *probes,
                             const struct spex_stream_site *site);

/* Notes the threads of a frame of them that spex_stream_check has passed; nothing of other frames. */
void spex_stream_threads_note(struct spex_stream_probes *probes, const char *frame);

/* Sets *records to the records of a frame that spex_stream_check has passed, unpacked in `room`,
 * which has SPEX_STREAM_RECORDS_MAX. NULL: the frame is of
 * another kind. 0, or -EPROTO with the reason. */
int spex_stream_records(const struct spex_stream_probes *probes, const char *frame,
                        struct spex_record *room, const struct spex_record **records,
                        struct spex_error *error);

#endif
