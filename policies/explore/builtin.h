/* SPDX-License-Identifier: MIT */
/* The exploration policies that are built into libspex-explore. */
#ifndef SPEX_POLICIES_EXPLORE_BUILTIN_H
#define SPEX_POLICIES_EXPLORE_BUILTIN_H

#include <stddef.h>

#include <spex/policy.h>

/* All built-in policies; NULL ends the array. */
extern const struct spex_policy_ops *const spex_builtin_policies[];

/* The policy of an exploration that names none. In bench/policies it finds better configurations in
 * fewer runs than the other policies do, on all of the programs there. */
#define SPEX_BUILTIN_DEFAULT "gaussian"

/* The policy called `name`, or NULL. */
const struct spex_policy_ops *spex_builtin_policy(const char *name);

#endif
