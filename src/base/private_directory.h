/* SPDX-License-Identifier: MIT */
/* Temporary directories that only this user can read, for sockets and files between a command and
 * the programs that it runs. */
#ifndef SPEX_BASE_PRIVATE_DIRECTORY_H
#define SPEX_BASE_PRIVATE_DIRECTORY_H

#include "text/error.h"

enum { SPEX_PRIVATE_DIRECTORY_BYTES = 4096 };

/* Makes a directory below TMPDIR or /tmp, with the command's name in its name. The caller removes
 * it. Returns 0; or a negative errno value with a line in `error`, and `path` is empty. */
int spex_private_directory(const char *command, char path[SPEX_PRIVATE_DIRECTORY_BYTES],
                           struct spex_error *error);

#endif
