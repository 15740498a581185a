/* SPDX-License-Identifier: MIT */
/* What the controller needs where a policy has some probes polled (the paper's "sampling by
 * probing"): the mean number of threads in each probe, and the cost of publishing executions. A
 * polled probe makes no records; its executions are published for the occupancy sampler. Called by
 * the first collector, under the metrics' lock. */
#ifndef SPEX_RATE_POLLING_H
#define SPEX_RATE_POLLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/rate_policy.h>

#include "stats/occupancy.h"

/* The share of one probe; all zero: nothing is known. */
struct spex_polling_share {
    /* Mean number of threads that execute the probe. */
    double share;
    /* Sums of the weights and of the weighted ticks of its records, at the last update. */
    double weight, ticks;
    /* Its looks, at the last update. */
    struct spex_occupancy activity;
};

/* Whether the policy divides probes into traced and polled ones. */
static inline bool spex_polling_policy(const struct spex_rate_policy_ops *policy) {
    return policy->combinations != NULL;
}

/* Seconds that the publishing of an execution takes; 0: not known yet. */
double spex_polling_execution_cost(void);

/* Updates the share of the probe with the first site `first`. The share of a `polled` probe comes
 * from looks; that of a probe that records times comes from the records, at `frequency` executions
 * a second; that of any other probe stays. */
void spex_polling_measure(struct spex_polling_share *share, uint32_t first, bool polled,
                          double frequency);

/* Cost of all classes if each were polled, in seconds a second. */
double spex_polling_base(const struct spex_rate_class *classes, size_t count);

/* Takes the base cost out of the problem, since policies take a polled class for free: subtracts it
 * from the budget, and the cost of publishing from each class's costs. */
void spex_polling_without_base(struct spex_rate_problem *problem, struct spex_rate_class *classes);

/* Index of the class that costs most when polled. `count` is at least 1. */
size_t spex_polling_dearest(const struct spex_rate_class *classes, size_t count);

/* Sets the occupancy sampler's frequency to the plan's, if the plan has any class polled. */
void spex_polling_apply(const struct spex_rate_plan *plan, size_t count);

#endif
