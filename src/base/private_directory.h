/* SPDX-License-Identifier: MIT */
/* A directory of this user's alone for what a command and the programs that it runs have between
 * them. */
#ifndef SPEX_BASE_PRIVATE_DIRECTORY_H
#define SPEX_BASE_PRIVATE_DIRECTORY_H

#include "text/error.h"

enum { SPEX_PRIVATE_DIRECTORY_BYTES = 4096 };

/* Makes one, below TMPDIR or /tmp, whose name has the command's in it. 0; or a negative errno value
 * with the reason, and `path` is empty. */
int spex_private_directory(const char *command, char path[SPEX_PRIVATE_DIRECTORY_BYTES],
                           struct spex_error *why);

#endif
