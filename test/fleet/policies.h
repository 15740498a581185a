/* SPDX-License-Identifier: MIT */
/* Policies for tests of the master. */
#ifndef SPEX_TEST_FLEET_POLICIES_H
#define SPEX_TEST_FLEET_POLICIES_H

#include <errno.h>

#include "../check.h"
#include "fleet/decide/fleet_policy.h"

#define MAP                                                                                        \
    "<instrumentation-map><unit type='glob' name='a*' modes='lat cnt@100'/>"                       \
    "</instrumentation-map>"

/* A policy by whose metric executions may take 50 ms, with more requirements. */
static inline struct spex_fleet_policy *policy_of(const char *metric, const char *requirements) {
    char text[1024];
    struct spex_fleet_policy *policy;
    struct spex_error error = {""};
    snprintf(text, sizeof(text),
             "<profiling-spec name='p'>" MAP "<qos-requirements>"
             "<response-time probe='request:lat' metric='%s' at_most='50ms'/>%s"
             "</qos-requirements></profiling-spec>",
             metric, requirements);
    if (spex_fleet_policy_parse("policy", text, &policy, &error) != 0)
        fail_msg("%s", error.text);
    return policy;
}

static inline struct spex_fleet_policy *policy_with(const char *requirements) {
    return policy_of("mean", requirements);
}

#endif
