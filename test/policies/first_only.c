/* SPDX-License-Identifier: MIT */
/* The smallest rate policy in an object of its own: the first class and no other. */
#include <spex/rate_policy.h>

static size_t first_only_workspace_size(size_t class_count) {
    (void)class_count;
    return 0;
}

static int first_only_decide(const struct spex_rate_problem *problem, void *workspace,
                             struct spex_rate_plan *plan) {
    (void)workspace;
    if (spex_rate_problem_check(problem) != 0)
        return -EINVAL;
    for (size_t c = 0; c < problem->class_count; c++)
        plan->decisions[c] = (struct spex_rate_decision){
            .mode = c == 0 ? SPEX_RATE_TRACED : SPEX_RATE_OFF,
            .frequency = c == 0 ? problem->classes[c].frequency : 0,
            .reason = c == 0 ? "the first" : "not the first",
        };
    plan->probing_frequency = 0;
    plan->reason = "the first and no other";
    spex_rate_plan_add_up(problem, plan);
    plan->feasible = spex_rate_fits(plan->overhead, problem->budget);
    return 0;
}

SPEX_RATE_POLICY_OBJECT = {
    .size = sizeof(struct spex_rate_policy_ops),
    .abi = SPEX_RATE_POLICY_ABI,
    .name = "first-only",
    .summary = "the first class and no other",
    .workspace_size = first_only_workspace_size,
    .decide = first_only_decide,
};
