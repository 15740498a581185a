/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/common/find_program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory may be executable, and is no program. */
static bool is_runnable(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

char *spex_find_program(const char *name) {
    const char *folder = strchr(name, '/') ? NULL : getenv("PATH");
    char *path = NULL;
    while (folder) {
        int length = (int)strcspn(folder, ":");
        /* An empty entry is this directory. */
        if (asprintf(&path, "%.*s%s%s", length, folder, length ? "/" : "./", name) < 0)
            return NULL;
        if (is_runnable(path))
            return path;
        free(path);
        folder = folder[length] ? folder + length + 1 : NULL;
    }
    if (!strchr(name, '/') && access(name, F_OK) != 0)
        return NULL;
    return strdup(name);
}
