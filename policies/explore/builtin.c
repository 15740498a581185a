/* SPDX-License-Identifier: MIT */
/* The table of the exploration policies in the library, and searches in it by name. */
#include "policies/explore/builtin.h"

#include <string.h>

extern SPEX_POLICY(climb);
extern SPEX_POLICY(gaussian);
extern SPEX_POLICY(grid);
extern SPEX_POLICY(halving);
extern SPEX_POLICY(random);
extern SPEX_POLICY(sensitivity);
extern SPEX_POLICY(tpe);

const struct spex_policy_ops *const spex_builtin_policies[] = {
    &spex_policy_gaussian, &spex_policy_climb,       &spex_policy_grid, &spex_policy_halving,
    &spex_policy_random,   &spex_policy_sensitivity, &spex_policy_tpe,  NULL,
};

const struct spex_policy_ops *spex_builtin_policy(const char *name) {
    for (size_t p = 0; spex_builtin_policies[p]; p++)
        if (strcmp(spex_builtin_policies[p]->name, name) == 0)
            return spex_builtin_policies[p];
    return NULL;
}
