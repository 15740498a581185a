/* SPDX-License-Identifier: MIT */
/* Lists the shared libraries that a program links, directly and indirectly, as the dynamic
 * loader finds them at present, LD_LIBRARY_PATH and LD_PRELOAD included. The loader is that of
 * the system, not the one that the program names, and nothing of the program runs. The loader
 * was not made for hostile files: it is not run for objects that could misuse it
 * (loader_check.h); their libraries are trusted as far as ldd trusts them. */
#ifndef SPEX_OBSERVE_OBJECTS_LINKED_OBJECTS_H
#define SPEX_OBSERVE_OBJECTS_LINKED_OBJECTS_H

#include <stddef.h>

#include "text/error.h"

struct spex_linked_objects {
    /* Paths, that of the loader included. */
    char **found;
    size_t found_count;
    /* Names of libraries that the loader does not find. */
    char **missing;
    size_t missing_count;
};

/* Lists the libraries of the program or shared library at `path`. 0; -ENOTSUP: the object could
 * misuse the loader; -EIO: the loader has failed; -ETIMEDOUT: it did not end; or an error of
 * spex_elf_file_open, or of starting a process. Call spex_linked_objects_free in any case. */
int spex_linked_objects_find(const char *path, struct spex_linked_objects *objects,
                             struct spex_error *error);
void spex_linked_objects_free(struct spex_linked_objects *objects);

#endif
