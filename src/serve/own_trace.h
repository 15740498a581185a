/* SPDX-License-Identifier: MIT */
/* The sink that writes this process's records to a trace, where no command may run
 * (SPEX_OUT=ctf:DIR). */
#ifndef SPEX_SERVE_OWN_TRACE_H
#define SPEX_SERVE_OWN_TRACE_H

#include "collect/sinks.h"

/* `out`: the folder, and limits of its files behind it (trace_limits.h). Makes the folder if it is
 * not there, and the trace in it. To be added before the metrics' sink,
 * of which the end of the trace tells. 0, or a negative errno value with one line on standard
 * error. */
int spex_own_trace_open(const char *out, unsigned collectors, struct spex_sink **sink);

#endif
