/* SPDX-License-Identifier: MIT */
/* What one rate policy decides about a problem, as its author and its users want to see it before they let it loose on
 * a program. */
#ifndef SPEX_PLAN_POLICY_H
#define SPEX_PLAN_POLICY_H

#include <stdbool.h>

#include <spex/rate_policy.h>

#include "rate_object.h"

struct spex_plan_policy {
    const struct spex_rate_policy_ops *ops;
    struct spex_object object; /* where it is, if it was loaded */
};

/* By the name of one that is built in, or the path of an object. An exit status, with a line when it is not that of
 * success; these have the same meaning for both. */
int spex_plan_policy_choose(struct spex_plan_policy *policy, const char *text);
int spex_plan_policy_print(const struct spex_plan_policy *policy,
                           const struct spex_rate_problem *problem, bool json);

void spex_plan_policy_free(struct spex_plan_policy *policy);

#endif
