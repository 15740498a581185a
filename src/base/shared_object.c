/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/shared_object.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

/* Before glibc 2.34 they are in a library of their own, of which we do not want to depend. */
#pragma weak dlsym
#pragma weak dlclose
#pragma weak dlerror

bool spex_shared_object_is_path(const char *text) {
    return strchr(text, '/') != NULL;
}

typedef void *opening(const char *path, int mode);

/* NULL in a program that is statically linked. A reference to dlopen, even a weak one, would have
 * the linker warn whoever links one; asked for by name it is found in others alone. */
static opening *find_opening(void) {
    opening *found = NULL;
    if (dlsym && dlclose && dlerror)
        *(void **)&found = dlsym(RTLD_DEFAULT, "dlopen");
    return found;
}

/* What the loader says, without the path that it begins with. */
static const char *loader_says(const char *path) {
    const char *text = dlerror();
    size_t length = strlen(path);
    if (!text)
        return "unknown error";
    return strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0
               ? text + length + 2
               : text;
}

static int load(struct spex_shared_object *object, const char *path,
                const struct spex_shared_object_kind *kind, struct spex_error *why) {
    opening *open = find_opening();
    if (!open)
        return spex_fail(why, -ENOSYS,
                         "a policy's name was expected: a statically linked program loads no "
                         "objects");
    object->handle = open(path, RTLD_NOW | RTLD_LOCAL);
    if (!object->handle)
        return spex_fail(why, -ENOENT, "a shared object was expected: %s", loader_says(path));
    object->found = dlsym(object->handle, kind->symbol);
    if (!object->found)
        return spex_fail(why, -ENOENT,
                         "a shared object with the symbol %s was expected, as %s makes it",
                         kind->symbol, kind->macro);
    return 0;
}

static int check(const struct spex_object_policy *policy,
                 const struct spex_shared_object_kind *kind, struct spex_error *why) {
    const struct spex_object_policy *expected = &kind->expected;
    int err = kind->check(policy);
    if (err == -ENOTSUP && policy->size < expected->size)
        return spex_fail(why, err, "a policy of %zu bytes was expected, as in this %s, not %zu",
                         expected->size, kind->header, policy->size);
    if (err == -ENOTSUP)
        return spex_fail(why, err, "a policy of version %lu of %s was expected, not %lu",
                         (unsigned long)expected->abi, kind->header, (unsigned long)policy->abi);
    return err ? spex_fail(why, err, "%s", kind->incomplete) : 0;
}

int spex_shared_object_open(struct spex_shared_object *object, const char *path,
                            const struct spex_shared_object_kind *kind, struct spex_error *why) {
    *object = (struct spex_shared_object){.handle = NULL};
    if (getauxval(AT_SECURE))
        return spex_fail(why, -EPERM,
                         "a policy's name was expected: a set-user-ID program loads no objects");
    int err = load(object, path, kind, why);
    err = err ? err : check(object->found, kind, why);
    if (err)
        spex_shared_object_close(object);
    return err;
}

void spex_shared_object_close(struct spex_shared_object *object) {
    if (object->handle && dlclose)
        dlclose(object->handle);
    *object = (struct spex_shared_object){.handle = NULL};
}
