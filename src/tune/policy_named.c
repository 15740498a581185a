/* SPDX-License-Identifier: MIT */
/* Built-in policies for applications: in an object of its own, since all of them come with it. */
#include <spex/tune.h>

#include "policies/explore/builtin.h"

const struct spex_policy_ops *spex_policy_named(const char *name) {
    return name ? spex_builtin_policy(name) : NULL;
}
