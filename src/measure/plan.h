/* SPDX-License-Identifier: MIT */
/* Asks a policy for the next run, and looks at what it says. */
#ifndef SPEX_MEASURE_PLAN_H
#define SPEX_MEASURE_PLAN_H

#include <spex/policy.h>

#include "text/error.h"

#define SPEX_PARAMETERS_MAX 64

struct spex_asking {
    const struct spex_policy_ops *policy;
    void *state;
    const struct spex_space *space;
    const char *probes; /* of the criteria */
    size_t *levels;     /* room for the plan's */
    bool waiting;       /* there are runs that it has not been told of yet */
};

/* 1 with a plan, 0 when the policy has had enough, or a negative errno value: -EAGAIN when it wants
 * to be told first. */
int spex_plan_ask(const struct spex_asking *asking, struct spex_plan *plan, struct spex_error *why);

#endif
