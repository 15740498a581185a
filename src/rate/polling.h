/* SPDX-License-Identifier: MIT */
/* What the controller must know where a policy leaves some probes to probing: which share of the
 * time each takes, and what it costs to publish executions for the prober. */
#ifndef SPEX_RATE_POLLING_H
#define SPEX_RATE_POLLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/rate_policy.h>

#include "stats/occupancy.h"

/* Of a probe; all zero: nothing is known. */
struct spex_polling_share {
    double share;                   /* threads that execute it, on average */
    double weight, ticks;           /* that its records stand for and hold, as of last time */
    struct spex_occupancy activity; /* as of last time */
};

/* Whether it divides probes into traced ones and probed ones. */
static inline bool spex_polling_policy(const struct spex_rate_policy_ops *policy) {
    return policy->combinations != NULL;
}

/* Seconds for an execution that is published; 0: not known. */
double spex_polling_execution_cost(void);

/* Brings the share up to date: of a probe that is `probed` now from what was seen; of one that
 * records times from these, `frequency` of them a second; of others it stays as it is. Under the
 * metrics' lock. */
void spex_polling_measure(struct spex_polling_share *share, uint32_t first, bool probed,
                          double frequency);

/* What all executions cost that are only published, in seconds a second. */
double spex_polling_base(const struct spex_rate_class *classes, size_t count);

/* Takes that out of the problem: policies believe that it costs nothing to be probed. So the
 * budget is what is left then, and a class costs what it costs more than that. */
void spex_polling_without_base(struct spex_rate_problem *problem, struct spex_rate_class *classes);

/* The class whose executions cost most when they are only published. There must be one. */
size_t spex_polling_dearest(const struct spex_rate_class *classes, size_t count);

/* Has the prober look as often as the plan says, if it leaves anything to it. */
void spex_polling_apply(const struct spex_rate_plan *plan, size_t count);

#endif
