/* SPDX-License-Identifier: MIT */
/* Visits the files whose code a running process has mapped: its program and its libraries, also
 * those that it has loaded later. The files are those that were mapped, even when their paths
 * lead to other files by now, or belong to another mount namespace. */
#ifndef SPEX_OBSERVE_OBJECTS_MAPPED_OBJECTS_H
#define SPEX_OBSERVE_OBJECTS_MAPPED_OBJECTS_H

#include <stdint.h>
#include <sys/types.h>

#include "text/error.h"

/* Called once for each file, with its path as the process sees it, and a descriptor that is
 * closed afterwards; or with -1 and the reason why the file cannot be read. */
typedef void (*spex_mapped_object_seen)(void *user, const char *path, int fd, const char *reason);

/* 0; -ESRCH: no such process; -EACCES: this user may not read it; -ENOENT: it has nothing
 * mapped; or another negative errno value. */
int spex_mapped_objects_visit(pid_t pid, spex_mapped_object_seen seen, void *user,
                              struct spex_error *error);

/* The address at which the process has mapped, as code, the byte at `offset` of the file behind `fd`. 0 or
 * -ENOENT. */
int spex_mapped_object_address(pid_t pid, int fd, uint64_t offset, uint64_t *address);

#endif
