/* SPDX-License-Identifier: MIT */
/* The memory in which a controller keeps what it knows of each probe. */
#ifndef SPEX_RATE_TABLES_H
#define SPEX_RATE_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "rate/snapshot.h"
#include "site/registry.h"

/* For the most sites that a process can have, as libraries may be loaded at any time. A mapping of
 * its own, of which a process has the pages that are written. */
struct spex_rate_tables {
    struct spex_rate_known known[SPEX_MAX_SITES];
    struct spex_rate_class classes[SPEX_MAX_SITES];
    struct spex_rate_decision decisions[SPEX_MAX_SITES];
    struct spex_rate_subject subjects[SPEX_MAX_SITES];
    struct spex_slices slices[SPEX_MAX_SITES];
    struct spex_snapshot_seen seen[SPEX_MAX_SITES];
    uint64_t executions[SPEX_MAX_SITES];
    uint32_t order[SPEX_MAX_SITES];
    /* The periods that sites have been given. */
    uint32_t before[SPEX_MAX_SITES];
};

/* Makes them, all zero, with the policy's workspace behind them, and has the controller's parts use
 * them. *bytes is for spex_pages_give_back. NULL: there is no memory. */
struct spex_rate_tables *spex_rate_tables_make(const struct spex_rate_policy_ops *policy,
                                               struct spex_rate *rate,
                                               struct spex_snapshot *snapshot, size_t *bytes);

#endif
