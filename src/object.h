/* SPDX-License-Identifier: MIT */
/* A policy in a shared object: loaded and found by its symbol, unloaded. */
#ifndef SPEX_OBJECT_H
#define SPEX_OBJECT_H

#include <stdbool.h>

#include "why.h"

struct spex_object {
    void *handle; /* NULL: nothing is loaded */
    const void *found;
};

/* Whether that is a file, and no name of a policy: it has a "/". */
bool spex_object_is_path(const char *text);

/* 0; else a line, which begins with what was expected: -EPERM in a set-user-ID program, -ENOSYS in one that is
 * statically linked, -ENOENT when the object cannot be loaded or has no such symbol, which `macro` makes. */
int spex_object_open(struct spex_object *object, const char *path, const char *symbol,
                     const char *macro, struct spex_why *why);

/* Nobody uses what was found any more. */
void spex_object_close(struct spex_object *object);

#endif
