/* SPDX-License-Identifier: MIT */
/* The list of the policies that the library contains. The first one is the default. */
#include "policies/rate/rates.h"

#include <stdio.h>
#include <string.h>

extern SPEX_RATE_POLICY(fair);
extern SPEX_RATE_POLICY(budget);
extern SPEX_RATE_POLICY(fixed);
extern SPEX_RATE_POLICY(hybrid);

const struct spex_rate_policy_ops *const spex_builtin_rate_policies[] = {
    &spex_rate_policy_fair, &spex_rate_policy_budget, &spex_rate_policy_fixed,
    &spex_rate_policy_hybrid, NULL};

const struct spex_rate_policy_ops *spex_builtin_rate_policy(const char *name) {
    for (size_t p = 0; spex_builtin_rate_policies[p]; p++)
        if (strcmp(spex_builtin_rate_policies[p]->name, name) == 0)
            return spex_builtin_rate_policies[p];
    return NULL;
}

void spex_rate_policy_names(char *text, size_t size) {
    size_t length = 0;
    for (size_t p = 0; spex_builtin_rate_policies[p] && length < size; p++) {
        const char *before = p == 0 ? "" : spex_builtin_rate_policies[p + 1] ? ", " : " or ";
        length += (size_t)snprintf(text + length, size - length, "%s%s", before,
                                   spex_builtin_rate_policies[p]->name);
    }
}
