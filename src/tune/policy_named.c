/* SPDX-License-Identifier: MIT */
/* Finds built-in policies by name, for applications. In an object of its own: linking it brings all
 * policies with it. */
#include <spex/tune.h>

#include "policies/explore/builtin.h"

const struct spex_policy_ops *spex_policy_named(const char *name) {
    return name ? spex_builtin_policy(name) : NULL;
}
