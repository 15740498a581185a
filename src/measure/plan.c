/* SPDX-License-Identifier: MIT */
/* A policy may be a user's object, so its answers are checked: a plan outside of the space would be
 * an index outside of its arrays. */
#include "measure/plan.h"

#include <errno.h>
#include <string.h>

/* Returns whether the plan is for a configuration of the space, and for the one that represents all
 * configurations that are equal to it (spex_space_settle). Equal configurations must not be run as
 * different ones. */
static bool plan_is_valid(const struct spex_asking *asking, const struct spex_plan *plan) {
    const struct spex_space *space = asking->space;
    size_t settled[SPEX_PARAMETERS_MAX];
    if (plan->levels != asking->levels || !plan->probes ||
        !(plan->duration_seconds > 0 && plan->duration_seconds <= space->rules.duration_seconds))
        return false;
    for (size_t p = 0; p < space->parameter_count; p++) {
        if (plan->levels[p] >= space->parameters[p].count)
            return false;
        settled[p] = plan->levels[p];
    }
    return spex_space_settle(space, settled) &&
           memcmp(settled, plan->levels, space->parameter_count * sizeof(*settled)) == 0;
}

/* The policy finds a whole plan, of the defaults, and changes what it wants. A policy that returns
 * -EAGAIN while no run is under way would wait for ever, so that is an error. */
int spex_plan_ask(const struct spex_asking *asking, struct spex_plan *plan,
                  struct spex_error *error) {
    const struct spex_space *space = asking->space;
    for (size_t p = 0; p < space->parameter_count; p++)
        asking->levels[p] = space->parameters[p].default_level;
    *plan = (struct spex_plan){
        .size = sizeof(*plan),
        .levels = asking->levels,
        .probes = asking->probes,
        .duration_seconds = space->rules.duration_seconds,
        .finals_due = asking->finals_due,
        .trials = asking->trials,
    };
    int got = asking->policy->next(asking->state, plan);
    if (got == -EAGAIN && asking->waiting)
        return got;
    if (got < 0)
        return spex_fail(error, got, "policy \"%s\" gave up: %s", asking->policy->name,
                         strerror(-got));
    if (got && !plan_is_valid(asking, plan))
        return spex_fail(error, -ERANGE, "policy \"%s\" planned what is not in the space",
                         asking->policy->name);
    return got > 0;
}
