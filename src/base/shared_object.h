/* SPDX-License-Identifier: MIT */
/* Shared objects that are loaded while the program runs. Policies: loads an object, finds the
 * policy by its symbol, checks it, and unloads the object; the same code serves exploration
 * policies and rate policies. Libraries of the system: loads them for the life of the process. */
#ifndef SPEX_BASE_SHARED_OBJECT_H
#define SPEX_BASE_SHARED_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/error.h"

/* The members that struct spex_policy_ops and struct spex_rate_policy_ops begin with. */
struct spex_object_policy {
    size_t size;
    uint32_t abi;
};

/* A kind of policy. The texts are for messages. */
struct spex_shared_object_kind {
    /* The symbol of the policy in the object, and the macro that defines it. */
    const char *symbol, *macro;
    /* The header that declares the policy. */
    const char *header;
    /* The size and the version of the policy in this header. */
    struct spex_object_policy expected;
    /* Checks a policy. Returns 0; -ENOTSUP for another size or version; -EINVAL when mandatory
     * members are missing. */
    int (*check)(const void *policy);
    /* The message for a policy without its mandatory members. */
    const char *incomplete;
};

struct spex_shared_object {
    /* Of dlopen; NULL: nothing is loaded. */
    void *handle;
    /* The policy. */
    const void *found;
};

/* Returns whether the text is a path and not the name of a built-in policy: it has a "/". */
bool spex_shared_object_is_path(const char *text);

/* Loads the object at `path` and checks its policy. Returns 0; -EPERM in a set-user-ID program;
 * -ENOSYS in a statically linked one; -ENOENT when the object cannot be loaded or has no policy; or
 * the result of the kind's check. After an error `error` has a line that says what was expected. */
int spex_shared_object_open(struct spex_shared_object *object, const char *path,
                            const struct spex_shared_object_kind *kind, struct spex_error *error);

/* Unloads the object. Afterwards nobody may use the policy or a text of it. */
void spex_shared_object_close(struct spex_shared_object *object);

/* Loads a library of the system by its name. NULL, with the reason in *why, which lasts until the
 * next call of the loader; also in a statically linked program. */
void *spex_library_open(const char *name, const char **why);

/* Returns the symbol's address in the library, or NULL. */
void *spex_library_symbol(void *library, const char *symbol);

#endif
