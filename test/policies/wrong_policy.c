/* SPDX-License-Identifier: MIT */
/* Exploration policies that something is wrong with: which, says what is defined. */
#include <spex/policy.h>

static size_t wrong_state_size(const struct spex_space *space) {
    (void)space;
    return 0;
}

static int wrong_init(void *state, const struct spex_space *space) {
    (void)state;
    (void)space;
    return 0;
}

static int wrong_next(void *state, struct spex_plan *plan) {
    (void)state;
    (void)plan;
    return 0;
}

static bool wrong_stop_run(void *state, const struct spex_run *run) {
    (void)state;
    (void)run;
    return true;
}

SPEX_POLICY_OBJECT = {
#ifdef WRONG_SIZE
    .size = sizeof(struct spex_policy_ops) - 1,
#else
    .size = sizeof(struct spex_policy_ops),
#endif
#ifdef WRONG_VERSION
    .abi = SPEX_POLICY_ABI + 1,
#else
    .abi = SPEX_POLICY_ABI,
#endif
    .name = "wrong",
#ifndef WRONG_SUMMARY
    .summary = "something is wrong with it",
#endif
    .state_size = wrong_state_size,
    .init = wrong_init,
    .next = wrong_next,
    .stop_run = wrong_stop_run,
};
