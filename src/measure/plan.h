/* SPDX-License-Identifier: MIT */
/* Asks a policy for the next run and checks its answer. */
#ifndef SPEX_MEASURE_PLAN_H
#define SPEX_MEASURE_PLAN_H

#include <spex/policy.h>

#include "text/error.h"

#define SPEX_PARAMETERS_MAX 64

struct spex_asking {
    const struct spex_policy_ops *policy;
    void *state;
    const struct spex_space *space;
    /* A selection of the criteria's probes. */
    const char *probes;
    /* Room for the plan's levels. */
    size_t *levels;
    /* As in the plan. */
    bool finals_due;
    uint64_t trials;
    /* There are runs whose results the policy has not been told yet: -EAGAIN is allowed. */
    bool waiting;
};

/* 1 with a plan; 0: the policy wants no more runs; -EAGAIN: it must be told results first; or
 * another negative errno value with `error`. */
int spex_plan_ask(const struct spex_asking *asking, struct spex_plan *plan,
                  struct spex_error *error);

#endif
