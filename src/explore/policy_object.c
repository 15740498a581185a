/* SPDX-License-Identifier: MIT */
/* How an exploration policy is recognised in a shared object: its symbol, its header's version, and
 * the message for what is missing. spex_shared_object_open reads size and abi before it trusts any
 * other member. */
#include "explore/policy_object.h"

#include <spex/policy.h>

_Static_assert(offsetof(struct spex_policy_ops, size) ==
                       offsetof(struct spex_object_policy, size) &&
                   offsetof(struct spex_policy_ops, abi) ==
                       offsetof(struct spex_object_policy, abi),
               "the beginning that all policies have in common");

static int policy_object_check(const void *policy) {
    return spex_policy_check(policy);
}

const struct spex_shared_object_kind spex_policy_object_kind = {
    .symbol = "spex_policy",
    .macro = "SPEX_POLICY_OBJECT",
    .header = "spex/policy.h",
    .expected = {sizeof(struct spex_policy_ops), SPEX_POLICY_ABI},
    .check = policy_object_check,
    .incomplete = "a policy with name, summary, state_size, init and next was expected",
};
