/* SPDX-License-Identifier: MIT */
/* What the controller sees of the process: clocks, counts, what is selected and what it costs. The
 * only file that looks at them. Called by the first collector, under the metrics' lock. */
#ifndef SPEX_RATE_SNAPSHOT_H
#define SPEX_RATE_SNAPSHOT_H

#include <stdint.h>

#include "rate/rate.h"
#include "rate/slices.h"

/* When a probe was last looked at, and the CPU time of the program's threads then. */
struct spex_snapshot_seen {
    double now, running;
    uint32_t threads;
};

/* What was read. Arrays are of SPEX_MAX_SITES. */
struct spex_snapshot {
    struct spex_rate_in in;
    struct spex_rate_subject *subjects;
    /* Of each probe and group, by index. */
    uint64_t *executions;
    /* What a probe's slices have counted, by the index of its first site. */
    struct spex_slices *slices;
    struct spex_snapshot_seen *seen;
    /* Ticks a second; 0: not known yet. */
    double tick_rate;
    /* The threads whose clocks were read, as a number. */
    uint64_t threads;
    struct spex_random random;
    /* spex_sites_selections when it was read. */
    uint32_t selections;
};

/* Reads clocks and counts now, and the subjects that have done something, or about which there may
 * be something to decide. `known`: what is known of them. */
void spex_snapshot_read(struct spex_snapshot *snapshot, const struct spex_rate_known *known);

/* What executions of a type cost by calibration; all 0: that is not known yet. */
struct spex_rate_costs spex_snapshot_costs(uint32_t type, double tick_rate);

/* What is told beside: the time and CPU times. */
void spex_snapshot_read_clocks(struct spex_snapshot *snapshot);

/* Notes in the probe's slices, or in those of all in the group, that a hold-off is over. */
void spex_snapshot_note_slice(struct spex_snapshot *snapshot, const struct spex_rate *rate,
                              uint32_t index);

/* How much faster the program executes a probe while that is held off. */
struct spex_speedup spex_snapshot_speedup(const struct spex_snapshot *snapshot,
                                          const struct spex_rate_known *known,
                                          const struct spex_slices *slices,
                                          const struct spex_slices_reading *now, bool in_group,
                                          double cpus);

#endif
