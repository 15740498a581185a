/* SPDX-License-Identifier: MIT */
/* The part of a trace that a command is to look at: the options --from, --to and -e. */
#ifndef SPEX_TOOLS_COMMON_TRACE_PART_H
#define SPEX_TOOLS_COMMON_TRACE_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "text/error.h"
#include "trace/read/recording.h"

/* Converts a time of a trace to ticks: seconds from its beginning, "12.5"; a date and time,
 * "2026-11-23T07:39:30.5" in local time or with "Z" behind it in UTC; or a time of the day on which
 * the trace begins, "07:39:30". 0, or -EINVAL with what was expected. */
int spex_trace_time(const struct spex_recording *trace, const char *text, uint64_t *ticks,
                    struct spex_error *error);

/* Opens a trace and leaves out what `probes`, a selection, does not switch on; NULL: nothing. An
 * exit status, after a message. */
int spex_trace_part_open(const char *command, const char *path, const char *probes,
                         struct spex_recording **trace);

/* The ticks of --from and --to, each of which may be NULL. An exit status, after a message. Tells
 * where the part begins before what is left of a trace that was rotated. */
int spex_trace_part_limits(const char *command, const struct spex_recording *trace,
                           const char *from, const char *to, uint64_t *begin, uint64_t *end);

/* Splits "FROM..TO" in place; each is NULL where it is empty. False: there are no dots. */
bool spex_trace_part_split(char *text, const char **from, const char **to);

/* Tells on standard error what of the trace could not be read. SPEX_EXIT_OK; SPEX_EXIT_FAILED:
 * there is something. */
int spex_trace_part_problems(const struct spex_recording *trace);

/* Of a recording that nobody has brought to its end. */
#define SPEX_TRACE_UNFINISHED "its writer was killed, or still writes"

/* Tells on standard error of which processes the recording ended before they did, and why. */
void spex_trace_part_ends(const struct spex_recording *trace);

#endif
