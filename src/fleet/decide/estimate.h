/* SPDX-License-Identifier: MIT */
/* P, P_inst and P_t from what instances tell. */
#ifndef SPEX_FLEET_DECIDE_ESTIMATE_H
#define SPEX_FLEET_DECIDE_ESTIMATE_H

#include "fleet/decide/master.h"

/* The metric's value as a multiple of the mean where times are exponential: 1 for the mean, and
 * -ln(1 - q) for a quantile. */
double spex_fleet_metric_factor(const char *metric);

/* Executions a second with which an instance whose executions take `service` seconds of it just
 * keeps the response time. 0: it cannot, without any load. */
double spex_fleet_capacity(const struct spex_fleet_policy *policy, double service);

/* Learns service times, load and response time. The observations are of the state's instances, in
 * their order. */
void spex_fleet_estimate(const struct spex_fleet_policy *policy, struct spex_fleet_state *state,
                         const struct spex_fleet_observations *observations);

/* Sets the decision's figures of (1). */
void spex_fleet_estimate_tell(const struct spex_fleet_policy *policy,
                              const struct spex_fleet_state *state,
                              struct spex_fleet_decision *decision);

#endif
