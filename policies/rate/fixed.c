/* SPDX-License-Identifier: MIT */
/* Records everything that is selected, whatever the overhead is, and reports that overhead. */
#include <spex/rate_policy.h>

/* The policy keeps nothing. */
static size_t fixed_workspace_size(size_t class_count) {
    (void)class_count;
    return 0;
}

static int fixed_decide(const struct spex_rate_problem *problem, void *workspace,
                        struct spex_rate_plan *plan) {
    (void)workspace;
    if (spex_rate_problem_check(problem) != 0)
        return -EINVAL;
    for (size_t c = 0; c < problem->class_count; c++) {
        double records = spex_rate_most(&problem->classes[c]);
        plan->decisions[c] = (struct spex_rate_decision){
            .mode = spex_rate_mode_of(&problem->classes[c], records),
            .frequency = records,
            .reason = "as asked for",
        };
    }
    plan->probing_frequency = 0;
    spex_rate_plan_add_up(problem, plan);
    plan->feasible = spex_rate_fits(plan->overhead, problem->budget);
    plan->reason = plan->feasible ? "as asked for, within the budget"
                                  : "as asked for, although it exceeds the budget";
    return 0;
}

SPEX_RATE_POLICY(fixed) = {
    .size = sizeof(struct spex_rate_policy_ops),
    .abi = SPEX_RATE_POLICY_ABI,
    .name = "fixed",
    .summary = "everything as it was asked for, whatever it costs",
    .workspace_size = fixed_workspace_size,
    .decide = fixed_decide,
};
