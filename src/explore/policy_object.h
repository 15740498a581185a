/* SPDX-License-Identifier: MIT */
/* An exploration policy in a shared object: loaded, checked, unloaded. */
#ifndef SPEX_POLICY_OBJECT_H
#define SPEX_POLICY_OBJECT_H

#include <spex/policy.h>

#include "object.h"

struct spex_policy_object {
    struct spex_object object;
    const struct spex_policy_ops *policy; /* valid while it is loaded */
};

/* 0; else a line, which begins with what was expected: as spex_object_open, or as spex_policy_check. */
int spex_policy_object_open(struct spex_policy_object *object, const char *path,
                            struct spex_why *why);

/* Nobody uses the policy any more, nor a text of it. */
void spex_policy_object_close(struct spex_policy_object *object);

#endif
