/* SPDX-License-Identifier: MIT */
/* Paths at which another user may have put something first, in a directory such as /tmp: links and
 * files that this process should neither follow nor write to. The rules are the kernel's with
 * fs.protected_symlinks and fs.protected_regular, which may be off. */
#ifndef SPEX_BASE_FILES_TRUSTED_PATH_H
#define SPEX_BASE_FILES_TRUSTED_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Length of the path's directory with its slash; 0: the path is a name alone. */
size_t spex_path_directory(const char *path);

/* Follows the links at the end of the path; what they lead to need not be there. `*target` is to be
 * freed. 0; -EACCES: a link is foreign; or another negative errno value. */
int spex_path_trusted(const char *path, char **target);

/* Opens a file for writing with these flags of open(). With O_CREAT it is made if it is not there.
 * A descriptor; -EACCES: it or a link to it is foreign; or another negative errno value. */
int spex_path_open(const char *path, int flags);

#endif
