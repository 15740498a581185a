/* SPDX-License-Identifier: MIT */
/* The profile of a process over a part of its trace: what the process itself would have told of it.
 * Executions and times come from the profiles in the journal, values from the records, by the code
 * that runs in programs. */
#ifndef SPEX_TRACE_READ_PART_H
#define SPEX_TRACE_READ_PART_H

#include "trace/read/recording.h"

struct spex_part;

/* A part from <= t < to, in ticks, of all processes. 0, or a negative errno value with the reason.
 * Close it if this succeeds. */
int spex_part_open(struct spex_part **opened, const struct spex_recording *trace, uint64_t from,
                   uint64_t to, struct spex_error *error);
void spex_part_close(struct spex_part *part);

/* The limits of the records that it is to be given: those about the part tell how executions at its
 * ends are divided. */
void spex_part_limits(const struct spex_part *part, uint64_t *from, uint64_t *to);

/* Takes a record of these. 0 or -ENOMEM. */
int spex_part_add(struct spex_part *part, const struct spex_recording_event *event);

/* Finds the profiles, when all records were given. 0 or -ENOMEM. */
int spex_part_finish(struct spex_part *part);

/* The profile of a process; the part owns it. */
const struct spex_profile *spex_part_profile(const struct spex_part *part, size_t process);

#endif
