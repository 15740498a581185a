/* SPDX-License-Identifier: MIT */
/* The stream sink: sends batches to a spex command over a Unix-domain socket. */
#ifndef SPEX_COLLECT_STREAM_H
#define SPEX_COLLECT_STREAM_H

#include "base/descriptor.h"
#include "collect/sinks.h"

/* That commands have asked for, at a time. */
#define SPEX_STREAMS_MAX 4

/* Connects to the socket at `path`. 0, or a negative errno value with one line on standard error.
 */
int spex_stream_open(const char *path, unsigned collectors, struct spex_sink **sink);

/* Streams records of these types (a mask) over `socket`, which is the stream's when this succeeds, until its other end
 * goes or the sinks are finished. Such a stream comes beside what there is: nothing is said of its end, nothing that it
 * does not deliver counts as undelivered, and a reader that is slow makes it leave records out, which it tells, rather
 * than hold a collector up. One call at a time, none beside spex_sinks_finish. 0, -EUSERS or -ENOMEM. */
int spex_stream_attach(struct spex_descriptor socket, uint32_t types, unsigned collectors);

#endif
