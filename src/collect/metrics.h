/* SPDX-License-Identifier: MIT */
/* The metrics sink: this process's tracer, from which its table is made and commands are
 * answered. There is at most one. */
#ifndef SPEX_COLLECT_METRICS_H
#define SPEX_COLLECT_METRICS_H

#include <stdbool.h>

#include "collect/sinks.h"
#include "profile/profile.h"

/* 0 or -ENOMEM. */
int spex_metrics_open(struct spex_sink **sink);

/* All collectors have ended: what is in the rings is lost, and times end here. Waits a few
 * milliseconds if need be, until the tick rate is known. */
void spex_metrics_end(void);

/* What follows holds between the two; the collectors wait meanwhile. Not with the registry of sites
 * locked. */
void spex_metrics_lock(void);
void spex_metrics_unlock(void);

/* Whether there are any: records are collected here. */
bool spex_metrics_there(void);

/* The process's times and accounts, and a type's. */
void spex_metrics_process(struct spex_profile_process *process);
void spex_metrics_type(struct spex_profile_type *type);

/* What is known of a probe beside its sites' state, and its values (valid while it is locked).
 * `probe`'s id and type say which. */
void spex_metrics_probe(struct spex_profile_probe *probe, const struct spex_values **values);

/* Of a type, since records are collected. */
struct spex_metrics_totals {
    uint64_t produced; /* records */
    uint64_t lost;     /* of them */
    uint64_t records;  /* of them, that were taken in */
    double executions; /* which these stand for */
};

struct spex_metrics_totals spex_metrics_totals(unsigned type_ring);

/* The weights of a probe's records, and the sum of their first values by these; 0 where there
 * are none. */
void spex_metrics_sums(uint16_t probe_id, uint32_t probe_type, double *weight, double *sum);

/* Executions of each probe since records are collected, at the index of its first site; of
 * SPEX_MAX_SITES. In regions they are those of the region. */
void spex_metrics_executions(uint64_t *by_probe);

/* Ticks per second; 0 while it is not known yet, in the first few milliseconds. */
double spex_metrics_tick_rate(void);

/* Ticks up to which there are figures: now, or when it ended. */
uint64_t spex_metrics_until(void);

/* In the child of a fork: there are none. */
void spex_metrics_fork_child(void);

#endif
