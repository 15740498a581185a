/* SPDX-License-Identifier: MIT */
/* A rate policy in a shared object: loaded, checked, unloaded. */
#ifndef SPEX_RATE_OBJECT_H
#define SPEX_RATE_OBJECT_H

#include <stdbool.h>

#include <spex/rate_policy.h>

#include "object.h"

struct spex_rate_object {
    struct spex_object object;
    const struct spex_rate_policy_ops *policy; /* valid while it is loaded */
};

/* Whether that is a file, and no name of a policy: it has a "/". */
bool spex_rate_object_is_path(const char *text);

/* 0; else a line, which begins with what was expected: -EPERM in a set-user-ID program, -ENOSYS in one that is
 * statically linked, -ENOENT when the object cannot be loaded or has no policy, or as spex_rate_policy_check. */
int spex_rate_object_open(struct spex_rate_object *object, const char *path, struct spex_why *why);

/* Nobody uses the policy any more, nor a text of it. */
void spex_rate_object_close(struct spex_rate_object *object);

#endif
