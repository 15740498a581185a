/* SPDX-License-Identifier: MIT */
/* The response time and the throughput of a process from one report to the next. */
#ifndef SPEX_TOOLS_AGENT_HOSTED_RESPONSE_H
#define SPEX_TOOLS_AGENT_HOSTED_RESPONSE_H

#include "fleet/decide/fleet_policy.h"
#include "profile/profile.h"

struct spex_hosted_response {
    /* Of the last report. NULL: there were no values. */
    struct spex_values *before;
    double executions, seconds;
    /* In the policy's metric, seconds; and executions a second. NaN: not known. */
    double response, throughput;
};

/* Takes a report, in which the probe of the response time has this number and type. 0 or
 * -ENOMEM. */
int spex_hosted_response_take(struct spex_hosted_response *response,
                              const struct spex_fleet_policy *policy,
                              const struct spex_profile *profile, uint16_t probe_id, uint32_t type);

/* Forgets what was before: another collection or program begins. */
void spex_hosted_response_free(struct spex_hosted_response *response);

#endif
