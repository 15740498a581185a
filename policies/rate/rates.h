/* SPDX-License-Identifier: MIT */
/* The rate policies that come with spex. */
#ifndef SPEX_POLICIES_RATE_RATES_H
#define SPEX_POLICIES_RATE_RATES_H

#include <spex/rate_policy.h>

/* All of them; ends with NULL. */
extern const struct spex_rate_policy_ops *const spex_builtin_rate_policies[];

/* The one called `name`, or NULL. */
const struct spex_rate_policy_ops *spex_builtin_rate_policy(const char *name);

#endif
