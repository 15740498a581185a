/* SPDX-License-Identifier: MIT */
/* The rate policies that are built into libspex. */
#ifndef SPEX_POLICIES_RATE_RATES_H
#define SPEX_POLICIES_RATE_RATES_H

#include <spex/rate_policy.h>

/* All built-in policies; NULL ends the array, the first is the default. */
extern const struct spex_rate_policy_ops *const spex_builtin_rate_policies[];

/* The policy called `name`, or NULL. */
const struct spex_rate_policy_ops *spex_builtin_rate_policy(const char *name);

/* Enough bytes for the names of all. */
#define SPEX_RATE_POLICY_NAMES 128

/* Writes their names as "fair, budget or hybrid". */
void spex_rate_policy_names(char *text, size_t size);

#endif
