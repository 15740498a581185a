/* SPDX-License-Identifier: MIT */
/* When rings wake the collector before its sleep is over: where their records have taken much of the
 * budget. */
#ifndef SPEX_RATE_ALARMS_H
#define SPEX_RATE_ALARMS_H

#include "rate/rate.h"
#include "ring/probe_type.h"

/* The records of each type when the last step was made, and what one costs with the executions that
 * it stands for. */
struct spex_rate_alarms {
    double produced[SPEX_PROBE_TYPES], record_cost[SPEX_PROBE_TYPES];
};

/* Until the costs are known only a ring that is half full alarms a collector. */
void spex_rate_alarms_clear(void);

/* By what a step has decided. */
void spex_rate_alarms_set(struct spex_rate_alarms *alarms, const struct spex_rate *rate,
                          const struct spex_rate_in *in, double tick_rate);

/* What records have cost since then. */
double spex_rate_alarms_cost(const struct spex_rate_alarms *alarms);

#endif
