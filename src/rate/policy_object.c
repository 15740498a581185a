/* SPDX-License-Identifier: MIT */
/* What base/shared_object.c must know to open an object with a rate policy and to check it. */
#include "rate/policy_object.h"

#include <spex/rate_policy.h>

_Static_assert(offsetof(struct spex_rate_policy_ops, size) ==
                       offsetof(struct spex_object_policy, size) &&
                   offsetof(struct spex_rate_policy_ops, abi) ==
                       offsetof(struct spex_object_policy, abi),
               "the beginning that all policies have in common");

static int rate_policy_check(const void *policy) {
    return spex_rate_policy_check(policy);
}

const struct spex_shared_object_kind spex_rate_object_kind = {
    .symbol = "spex_rate_policy",
    .macro = "SPEX_RATE_POLICY_OBJECT",
    .header = "spex/rate_policy.h",
    .expected = {sizeof(struct spex_rate_policy_ops), SPEX_RATE_POLICY_ABI},
    .check = rate_policy_check,
    .incomplete = "a policy with name, summary, workspace_size and decide was expected, and "
                  "both of combinations and combinations_workspace_size or none",
};
