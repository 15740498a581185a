/* SPDX-License-Identifier: MIT */
/* The files whose code a running process has mapped: its program and its libraries, those loaded
 * later included. They are read as they were when they were loaded, whatever has become of their paths
 * since, and in whatever file system the process lives. */
#ifndef SPEX_OBSERVE_OBJECTS_MAPPED_OBJECTS_H
#define SPEX_OBSERVE_OBJECTS_MAPPED_OBJECTS_H

#include <sys/types.h>

#include "text/error.h"

/* Called once for each file: its path as the process sees it, and a descriptor, which is closed
 * afterwards; or -1 and why there is none. */
typedef void (*spex_mapped_object_seen)(void *user, const char *path, int fd, const char *why);

/* 0; -ESRCH: no such process; -EACCES: it may not be looked at; -ENOENT: it has nothing mapped. */
int spex_mapped_objects_visit(pid_t pid, spex_mapped_object_seen seen, void *user,
                              struct spex_error *why);

#endif
