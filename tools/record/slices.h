/* SPDX-License-Identifier: MIT */
/* How much probes' rates and times vary within a part of a trace: sums over slices of equal length,
 * whose spread tells the error of the whole (batch means). */
#ifndef SPEX_TOOLS_RECORD_SLICES_H
#define SPEX_TOOLS_RECORD_SLICES_H

#include <stdint.h>

#include "trace/read/recording.h"

enum { SPEX_SLICES = 20 };

/* An estimate and its standard error; NaN: not known. */
struct spex_slices_estimate {
    double value;
    double error;
    /* Degrees of freedom of the error. */
    double freedom;
};

struct spex_slices_figures {
    uint64_t records;
    /* Executions a second. */
    struct spex_slices_estimate rate;
    /* Of the probe's first value; in seconds, if it is a time. */
    struct spex_slices_estimate mean, median;
};

struct spex_slices;

/* A part from <= t < to of a trace, in ticks. NULL: no memory. */
struct spex_slices *spex_slices_create(const struct spex_recording *trace, uint64_t from,
                                       uint64_t to);
void spex_slices_destroy(struct spex_slices *slices);

/* Takes a record of the part. 0 or -ENOMEM. */
int spex_slices_add(struct spex_slices *slices, const struct spex_recording_event *event);

/* How long the part is. */
double spex_slices_seconds(const struct spex_slices *slices);

/* The figures of a class's probe over its classes; false: it has no records. */
bool spex_slices_figures(const struct spex_slices *slices, size_t process, uint16_t probe_id,
                         uint32_t probe_type, struct spex_slices_figures *figures);

#endif
