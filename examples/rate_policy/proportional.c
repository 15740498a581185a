/* SPDX-License-Identifier: MIT */
/* A rate policy of one's own: the same part of each probe's executions is recorded, busy or rare.
 *
 *     gcc -shared -fPIC $(pkg-config --cflags spex) -o proportional.so proportional.c
 *
 * docs/rate_policies.md goes through it. */
#include <spex/rate_policy.h>

static size_t proportional_workspace_size(size_t class_count) {
    (void)class_count;
    return 0;
}

/* What detecting leaves of the budget, over what recording everything would take. */
static double affordable_part(const struct spex_rate_problem *problem) {
    double left = problem->budget, all = 0;
    for (size_t c = 0; c < problem->class_count; c++) {
        left -= spex_rate_detection(problem, c);
        all += spex_rate_most(&problem->classes[c]) * spex_rate_report_cost(problem, c);
    }
    return all > left ? left / all : 1;
}

static int proportional_decide(const struct spex_rate_problem *problem, void *workspace,
                               struct spex_rate_plan *plan) {
    (void)workspace;
    if (spex_rate_problem_check(problem) != 0)
        return -EINVAL;
    double part = affordable_part(problem);
    bool denied = false;
    for (size_t c = 0; c < problem->class_count; c++) {
        const struct spex_rate_class *cls = &problem->classes[c];
        double most = spex_rate_most(cls), records = part > 0 ? part * most : 0;
        plan->decisions[c] = (struct spex_rate_decision){
            .mode = part > 0 ? spex_rate_mode_of(cls, records) : SPEX_RATE_OFF,
            .frequency = records,
            .reason = part > 0 ? "the same part of each" : "detecting alone exceeds the budget",
        };
        denied |= records < most && (cls->pinned || records < cls->min_frequency);
    }
    plan->probing_frequency = 0;
    plan->reason = part < 1 ? "as large a part as the budget pays for" : "everything";
    spex_rate_plan_add_up(problem, plan);
    plan->feasible = !denied && spex_rate_fits(plan->overhead, problem->budget);
    return 0;
}

SPEX_RATE_POLICY_OBJECT = {
    .size = sizeof(struct spex_rate_policy_ops),
    .abi = SPEX_RATE_POLICY_ABI,
    .name = "proportional",
    .summary = "the same part of each probe's executions",
    .workspace_size = proportional_workspace_size,
    .decide = proportional_decide,
};
