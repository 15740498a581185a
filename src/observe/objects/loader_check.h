/* SPDX-License-Identifier: MIT */
/* Whether the system's loader, told to list the libraries of an object (`--list`), does that and no
 * more. It then runs neither constructors nor resolvers of indirect functions, but it does run auditors
 * that the object names (DT_AUDIT), and it maps what the object says to where the object says. */
#ifndef SPEX_OBSERVE_OBJECTS_LOADER_CHECK_H
#define SPEX_OBSERVE_OBJECTS_LOADER_CHECK_H

#include "observe/objects/elf_file.h"

/* The loader that this process was started by; NULL when there was none. */
const char *spex_loader_path(void);

/* 0; -ENOTSUP and why the libraries of the object cannot be looked at. */
int spex_loader_check(const struct spex_elf_file *file, struct spex_error *why);

#endif
