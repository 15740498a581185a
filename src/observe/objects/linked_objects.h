/* SPDX-License-Identifier: MIT */
/* The shared libraries that a program links, those that they link and so on, as the dynamic loader
 * finds them here and now (LD_LIBRARY_PATH and LD_PRELOAD included), told by the system's own loader.
 * Nothing of the program runs; nor is the loader run that the program names. The loader was not made
 * for hostile files: those that could use it to run something are left alone (loader_check.h), while
 * libraries are trusted as far as `ldd` trusts them. */
#ifndef SPEX_OBSERVE_OBJECTS_LINKED_OBJECTS_H
#define SPEX_OBSERVE_OBJECTS_LINKED_OBJECTS_H

#include <stddef.h>

#include "text/error.h"

struct spex_linked_objects {
    char **found; /* paths, the loader's own included */
    size_t found_count;
    char **missing; /* names of those that the loader does not find */
    size_t missing_count;
};

/* For the program or shared library at `path`. 0; -ENOTSUP, when its libraries were not looked at;
 * -EIO when the loader failed, -ETIMEDOUT when it did not end; an error of spex_elf_file_open, or of starting a process. */
int spex_linked_objects_find(const char *path, struct spex_linked_objects *objects,
                             struct spex_error *why);
void spex_linked_objects_free(struct spex_linked_objects *objects);

#endif
