/* SPDX-License-Identifier: MIT */
/* A policy in a shared object: loaded, found by its symbol, checked, unloaded. */
#ifndef SPEX_BASE_SHARED_OBJECT_H
#define SPEX_BASE_SHARED_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/error.h"

/* What policies in shared objects begin with: struct spex_policy_ops and struct
 * spex_rate_policy_ops do. */
struct spex_object_policy {
    size_t size;
    uint32_t abi;
};

struct spex_shared_object_kind {
    /* Name of the policy in the object, and of the macro that makes it. */
    const char *symbol, *macro;
    /* That declares the policy; its size and version there. */
    const char *header;
    struct spex_object_policy expected;
    /* 0; -ENOTSUP for another size or version; -EINVAL for members that are missing. */
    int (*check)(const void *policy);
    /* What is said of a policy without all members that it has to have. */
    const char *incomplete;
};

struct spex_shared_object {
    void *handle; /* NULL: nothing is loaded */
    const void *found;
};

/* Whether that is a file, and no name of a policy: it has a "/". */
bool spex_shared_object_is_path(const char *text);

/* 0; else a line, which begins with what was expected: -EPERM in a set-user-ID program, -ENOSYS in
 * one that is statically linked, -ENOENT when the object cannot be loaded or has no policy, or as
 * the kind's check. */
int spex_shared_object_open(struct spex_shared_object *object, const char *path,
                            const struct spex_shared_object_kind *kind, struct spex_error *why);

/* Nobody uses the policy any more, nor a text of it. */
void spex_shared_object_close(struct spex_shared_object *object);

#endif
