/* SPDX-License-Identifier: MIT */
/* Rate policies that something is wrong with: which, says what is defined. */
#include <spex/rate_policy.h>

static size_t wrong_workspace_size(size_t class_count) {
    (void)class_count;
#ifdef WRONG_WORKSPACE
    return SIZE_MAX;
#else
    return 0;
#endif
}

static int wrong_decide(const struct spex_rate_problem *problem, void *workspace,
                        struct spex_rate_plan *plan) {
    (void)problem;
    (void)workspace;
    (void)plan;
#ifdef WRONG_DECISION
    return 0; /* with nothing decided */
#else
    return -ERANGE;
#endif
}

SPEX_RATE_POLICY_OBJECT = {
#ifdef WRONG_SIZE
    .size = sizeof(struct spex_rate_policy_ops) - 1,
#else
    .size = sizeof(struct spex_rate_policy_ops),
#endif
#ifdef WRONG_VERSION
    .abi = SPEX_RATE_POLICY_ABI + 1,
#else
    .abi = SPEX_RATE_POLICY_ABI,
#endif
    .name = "wrong",
#ifndef WRONG_SUMMARY
    .summary = "something is wrong with it",
#endif
    .workspace_size = wrong_workspace_size,
    .decide = wrong_decide,
};
