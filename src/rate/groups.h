/* SPDX-License-Identifier: MIT */
/* Probes that stand in regions (site/registry.h) and share a period: a group is one subject, with the
 * index of a region's site. What it executes are the passes through its regions, the executions in
 * these, and those of its probes elsewhere; what one of them costs is the mean. So a region is held
 * off where its passes alone are too dear, though no probe executes in them. Called by the first
 * collector, under the metrics' lock. */
#ifndef SPEX_RATE_GROUPS_H
#define SPEX_RATE_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "rate/rate.h"

/* A collection begins. `memory` has room for SPEX_MAX_SITES, and is all zero; NULL: it ends. */
struct spex_grouped;
size_t spex_groups_bytes(void);
void spex_groups_begin(struct spex_grouped *memory);

/* Counts what the groups have executed, by the executions of spex_metrics_executions, and sets
 * those at the groups' indices. */
void spex_groups_count(uint64_t *executions);

/* Whether a group has the index. */
bool spex_groups_is(uint32_t index);

/* The index by which is decided about a probe: that of its group, if it is in one. */
uint32_t spex_groups_by(uint32_t first);

/* The next probe of the group at or after `index` that is or was on; spex_sites_count() at the
 * end. */
uint32_t spex_groups_next(uint32_t group, uint32_t index);

/* Costs, in seconds, with so many ticks a second. All 0: not known yet. */
struct spex_rate_costs spex_groups_costs(uint32_t group, double tick_rate);

/* The part of what it executes that can make records: not passes. */
double spex_groups_recorded(uint32_t group);

#endif
