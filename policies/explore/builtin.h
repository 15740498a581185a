/* SPDX-License-Identifier: MIT */
/* The policies that come with spex. */
#ifndef SPEX_POLICIES_EXPLORE_BUILTIN_H
#define SPEX_POLICIES_EXPLORE_BUILTIN_H

#include <stddef.h>

#include <spex/policy.h>

/* All of them; ends with NULL. */
extern const struct spex_policy_ops *const spex_builtin_policies[];

/* For whoever names none: found more with fewer runs than the others, on all of what bench/policies explores. */
#define SPEX_BUILTIN_DEFAULT "gaussian"

/* The one called `name`, or NULL. */
const struct spex_policy_ops *spex_builtin_policy(const char *name);

#endif
