/* SPDX-License-Identifier: MIT */
/* Shows what one rate policy decides about a problem, so that it can be tried before a program uses
 * it. */
#ifndef SPEX_TOOLS_MODELS_PLAN_POLICY_H
#define SPEX_TOOLS_MODELS_PLAN_POLICY_H

#include <stdbool.h>

#include <spex/rate_policy.h>

#include "rate/policy_object.h"

struct spex_plan_policy {
    const struct spex_rate_policy_ops *ops;
    /* The object that `ops` are in, if they were loaded from one. */
    struct spex_shared_object object;
};

/* `text`: the name of a policy that is built in, or the path of a shared object. Both functions
 * return SPEX_EXIT_OK, or another status after a message. */
int spex_plan_policy_choose(struct spex_plan_policy *policy, const char *text);
int spex_plan_policy_print(const struct spex_plan_policy *policy,
                           const struct spex_rate_problem *problem, bool json);

void spex_plan_policy_free(struct spex_plan_policy *policy);

#endif
