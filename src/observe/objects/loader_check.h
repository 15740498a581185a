/* SPDX-License-Identifier: MIT */
/* Decides whether the loader of the system, called with --list for an object, lists the
 * libraries and does nothing else. With --list, the loader runs neither constructors nor
 * resolvers of indirect functions. It does run auditors that the object names (DT_AUDIT), and
 * it maps segments to the addresses that the object demands. */
#ifndef SPEX_OBSERVE_OBJECTS_LOADER_CHECK_H
#define SPEX_OBSERVE_OBJECTS_LOADER_CHECK_H

#include "observe/objects/elf_file.h"

/* The loader that has started this process; NULL when the process is linked statically. */
const char *spex_loader_path(void);

/* 0; or -ENOTSUP, with the reason why the libraries of the object cannot be listed. */
int spex_loader_check(const struct spex_elf_file *file, struct spex_error *error);

#endif
