/* SPDX-License-Identifier: MIT */
/* The metrics sink: this process's tracer, from which its table is made and commands are answered.
 * There is at most one. Except where said otherwise, functions are called under the metrics'
 * lock. */
#ifndef SPEX_COLLECT_METRICS_H
#define SPEX_COLLECT_METRICS_H

#include <stdbool.h>

#include "collect/sinks.h"
#include "profile/profile.h"

/* Makes the sink. Takes the lock. 0 or -ENOMEM. */
int spex_metrics_open(struct spex_sink **sink);

/* To be called after all collectors have ended: records in the rings count as lost, and times end
 * here. Takes the lock. May wait a few milliseconds until the tick rate is known. */
void spex_metrics_end(void);

/* The metrics' lock. Figures stay consistent while it is held, and collectors wait. Not to be taken
 * while the registry of sites is locked. */
void spex_metrics_lock(void);
void spex_metrics_unlock(void);

/* Whether there are metrics: records are collected in this process. */
bool spex_metrics_there(void);

/* Fill in the times and record counts of the process, and those of a type. */
void spex_metrics_process(struct spex_profile_process *process);

/* The file of the rings, where all that was ever in them belongs to the metrics;
 * SPEX_NO_DESCRIPTOR: there is none. */
struct spex_descriptor spex_metrics_rings(void);
void spex_metrics_type(struct spex_profile_type *type);

/* Counts the spans that are open, once for all rows of a profile. */
void spex_metrics_spans(void);

/* Fills in the figures of the probe whose first site is `first`, and pointers to its values, which
 * are valid while the lock is held. Of open spans it tells what spex_metrics_spans has counted. Its id and type, and the state of its sites, are there
 * already. */
void spex_metrics_probe(uint32_t first, struct spex_profile_row *row);

/* The same of the number of its series and the pointers to their values alone. */
void spex_metrics_series(uint32_t first, struct spex_profile_row *row);

/* Records of the probe whose first site is `first` are of a new slice of the time from now on:
 * spex_tracer_slice. Of a probe that has no records yet nothing is noted. */
void spex_metrics_slice(uint32_t first, double scale);

/* Totals of a type since the metrics were opened. */
struct spex_metrics_totals {
    /* Records that were made, and how many of these were lost. */
    uint64_t produced;
    uint64_t lost;
    /* Records that the tracer has taken in, and the executions that they stand for. */
    uint64_t records;
    double executions;
};

struct spex_metrics_totals spex_metrics_totals(unsigned type_ring);

/* A probe's records: how many, the sum of their weights, the weighted sum of their first values, and
 * of the squared distances from the mean. 0 where there are none. */
struct spex_metrics_sums {
    uint64_t records;
    double weight, sum, squares;
};

struct spex_metrics_sums spex_metrics_sums(uint16_t probe_id, uint32_t probe_type);

/* Executions since the metrics were opened, all counted: of each probe outside of regions, at the
 * index of its first site, and of all probes in each region, at the index of the region's site. The
 * array has room for SPEX_MAX_SITES. Takes time in proportion to threads times sites. */
void spex_metrics_executions(uint64_t *counts);

/* Estimate of the executions in regions of a probe, by the index of its first site. */
double spex_metrics_in_regions(uint32_t first);

/* Ticks per second; 0 while it is not known, in the first milliseconds. Any thread. */
double spex_metrics_tick_rate(void);

/* The time in ticks up to which there are figures: now, or when the metrics ended. */
uint64_t spex_metrics_until(void);

/* Forgets the metrics in the child of a fork, which has none. Called without the lock. */
void spex_metrics_fork_child(void);

/* In the parent, of a child that does not collect as it does. */
void spex_metrics_fork_unfollowed(void);

#endif
