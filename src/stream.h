/* SPDX-License-Identifier: MIT */
/* The stream sink: sends batches to a spex command over a Unix-domain socket. */
#ifndef SPEX_STREAM_H
#define SPEX_STREAM_H

#include "sinks.h"

/* Connects to the socket at `path`. 0, or a negative errno value with one line on standard error.
 */
int spex_stream_open(const char *path, unsigned collectors, struct spex_sink **sink);

#endif
