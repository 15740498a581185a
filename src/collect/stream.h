/* SPDX-License-Identifier: MIT */
/* The stream sink: sends batches to a spex command over a Unix-domain socket (stream_format.h). */
#ifndef SPEX_COLLECT_STREAM_H
#define SPEX_COLLECT_STREAM_H

#include "base/descriptor.h"
#include "collect/sinks.h"

/* Most attached streams at a time. */
#define SPEX_STREAMS_MAX 4

/* Opens the stream of SPEX_OUT: connects to the socket at `path`, or by `handover`, as
 * spex_command_socket does. `dumps`: the reader takes requests for dumps. 0, or a negative errno
 * value with one line on standard error. */
int spex_stream_open(const char *path, const struct spex_descriptor *handover, bool dumps,
                     unsigned collectors, struct spex_sink **sink);

/* What a command has asked for: records of these types (a mask), and requests for dumps, over
 * `socket`; and by `children`, unless it is SPEX_NO_DESCRIPTOR, streams of the children of forks
 * (wire/handover.h). */
struct spex_stream_asked {
    struct spex_descriptor socket, children;
    uint32_t types;
    bool dumps;
};

/* Attaches a stream that a command has requested: sends records over the socket until the other end
 * closes or the sinks are finished. Takes the descriptors over on success.
 * The stream never holds a collector up for long: records are left out, and counted in the frames,
 * while the reader is slow. They do not count as undelivered. One call at a time, and none at the
 * same time as spex_sinks_finish(). 0, -EUSERS or -ENOMEM. */
int spex_stream_attach(const struct spex_stream_asked *asked, unsigned collectors);

/* Whether a command has asked for the children's, and has not gone. Under the lock of start and
 * stop. */
bool spex_streams_of_children(void);

/* In the child of a fork, whose sinks were abandoned: attaches a stream to each command that has
 * asked its parent for the children's. Before any record is made. */
void spex_streams_follow(unsigned collectors);

/* Whether there are such commands. */
bool spex_streams_followed(void);

/* Where the child collects nothing: forgets them. */
void spex_streams_forget(void);

#endif
