/* SPDX-License-Identifier: MIT */
/* Loads shared objects. Also works in statically linked programs and with an old
 * glibc: there the loader's functions may be missing, and loading fails with a message. */
#define _GNU_SOURCE
#include "base/shared_object.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

/* Weak: before glibc 2.34 these functions are in libdl, which the library does not depend on. */
#pragma weak dlsym
#pragma weak dlclose
#pragma weak dlerror

bool spex_shared_object_is_path(const char *text) {
    return strchr(text, '/') != NULL;
}

typedef void *dlopen_function(const char *path, int mode);

/* Returns dlopen, or NULL in a statically linked program. It is looked up by name, because even a
 * weak reference makes the linker warn everybody who links a program statically. */
static dlopen_function *dlopen_find(void) {
    dlopen_function *found = NULL;
    if (dlsym && dlclose && dlerror)
        *(void **)&found = dlsym(RTLD_DEFAULT, "dlopen");
    return found;
}

/* Returns the loader's message without the path at its beginning, which the caller's message
 * has. */
static const char *loader_message(const char *path) {
    const char *text = dlerror();
    size_t length = strlen(path);
    if (!text)
        return "unknown error";
    return strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0
               ? text + length + 2
               : text;
}

/* Loads the object and finds the policy in it. Returns 0 or an error, after which a handle may be
 * open. */
static int object_load(struct spex_shared_object *object, const char *path,
                       const struct spex_shared_object_kind *kind, struct spex_error *error) {
    struct stat found;
    dlopen_function *open = dlopen_find();
    if (!open)
        return spex_fail(error, -ENOSYS,
                         "a policy's name was expected: a statically linked program loads no "
                         "objects");
    /* The loader would wait for a pipe's writer. */
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode))
        return spex_fail(error, -EINVAL, "a shared object was expected: not a regular file");
    object->handle = open(path, RTLD_NOW | RTLD_LOCAL);
    if (!object->handle)
        return spex_fail(error, -ENOENT, "a shared object was expected: %s", loader_message(path));
    object->found = dlsym(object->handle, kind->symbol);
    if (!object->found)
        return spex_fail(error, -ENOENT,
                         "a shared object with the symbol %s was expected, as %s makes it",
                         kind->symbol, kind->macro);
    return 0;
}

/* Checks size, version and members of the policy. */
static int policy_check(const struct spex_object_policy *policy,
                        const struct spex_shared_object_kind *kind, struct spex_error *error) {
    const struct spex_object_policy *expected = &kind->expected;
    int err = kind->check(policy);
    if (err == -ENOTSUP && policy->size < expected->size)
        return spex_fail(error, err, "a policy of %zu bytes was expected, as in this %s, not %zu",
                         expected->size, kind->header, policy->size);
    if (err == -ENOTSUP)
        return spex_fail(error, err, "a policy of version %lu of %s was expected, not %lu",
                         (unsigned long)expected->abi, kind->header, (unsigned long)policy->abi);
    return err ? spex_fail(error, err, "%s", kind->incomplete) : 0;
}

int spex_shared_object_open(struct spex_shared_object *object, const char *path,
                            const struct spex_shared_object_kind *kind, struct spex_error *error) {
    *object = (struct spex_shared_object){.handle = NULL};
    if (getauxval(AT_SECURE))
        return spex_fail(error, -EPERM,
                         "a policy's name was expected: a set-user-ID program loads no objects");
    int err = object_load(object, path, kind, error);
    err = err ? err : policy_check(object->found, kind, error);
    if (err)
        spex_shared_object_close(object);
    return err;
}

void spex_shared_object_close(struct spex_shared_object *object) {
    if (object->handle && dlclose)
        dlclose(object->handle);
    *object = (struct spex_shared_object){.handle = NULL};
}

void *spex_library_open(const char *name, const char **why) {
    dlopen_function *open = dlopen_find();
    *why = "a statically linked program loads no libraries";
    void *library = open ? open(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (open && !library)
        *why = dlerror();
    return library;
}

void *spex_library_symbol(void *library, const char *symbol) {
    return dlsym(library, symbol);
}
