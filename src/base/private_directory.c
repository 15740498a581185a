/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/private_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The path is absolute and has no symbolic links. A set-user-ID program ignores TMPDIR. */
int spex_private_directory(const char *command, char path[SPEX_PRIVATE_DIRECTORY_BYTES],
                           struct spex_error *error) {
    const char *parent = secure_getenv("TMPDIR");
    char *whole = realpath(parent && *parent ? parent : "/tmp", NULL);
    int length = snprintf(path, SPEX_PRIVATE_DIRECTORY_BYTES, "%s/spex-%s-XXXXXX",
                          whole ? whole : "/tmp", command);
    free(whole);
    if (length < SPEX_PRIVATE_DIRECTORY_BYTES && mkdtemp(path))
        return 0;
    int err = length < SPEX_PRIVATE_DIRECTORY_BYTES ? -errno : -ENAMETOOLONG;
    spex_error_set(error, "cannot make a directory %s: %s", path, strerror(-err));
    path[0] = '\0';
    return err;
}
