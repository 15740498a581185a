/* SPDX-License-Identifier: MIT */
/* A fleet as its master sees it, for tests that make the reports. */
#ifndef SPEX_TEST_FLEET_MADE_LEAD_H
#define SPEX_TEST_FLEET_MADE_LEAD_H

#include "fleet/lead/lead.h"
#include "policies.h"

static struct spex_lead lead;
static struct spex_fleet_policy *policy;

/* The rest is as for policy_with and spex_lead_init. */
static inline int lead_begin(const char *requirements, bool elastic, uint64_t number) {
    policy = policy_with(requirements);
    spex_lead_init(&lead, policy, elastic, number);
    return 0;
}

static inline int lead_end(void **state) {
    (void)state;
    spex_lead_free(&lead);
    spex_fleet_policy_free(policy);
    return 0;
}

#endif
