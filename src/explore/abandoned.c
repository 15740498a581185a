/* SPDX-License-Identifier: MIT */
/* Cleans up after an explorer that was killed (SIGKILL, power): it could not remove its directory,
 * nor kill what its programs had started. The next explorer of the same store finds the directory's
 * name there and does so, before it makes its own. */
#define _GNU_SOURCE
#include "explore/abandoned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "explore/trial/cpu_parts.h"
#include "explore/trial/leftovers.h"
#include "explore/trial/load.h"
#include "explore/trial/program_run.h"

/* Cleans up one place of the runner. Processes of its trials are recognised by SPEX_CONFIG in their
 * environment, which has the configuration's path. Errors are ignored: another user's files
 * stay. */
static void abandoned_clean_place(const char *directory, size_t place) {
    char path[4096], mark[4200];
    snprintf(path, sizeof(path), "%s/%zu/" SPEX_TRIAL_CONFIG, directory, place);
    snprintf(mark, sizeof(mark), "SPEX_CONFIG=%s", path);
    spex_leftovers_kill_anywhere(mark);
    unlink(path);
    snprintf(path, sizeof(path), "%s/%zu/" SPEX_TRIAL_SOCKET, directory, place);
    unlink(path);
    snprintf(path, sizeof(path), "%s/%zu/" SPEX_TRIAL_LOADS, directory, place);
    spex_load_remove_files(path);
    snprintf(path, sizeof(path), "%s/%zu", directory, place);
    rmdir(path);
}

/* Returns whether spex has made the directory, for this user. The path comes from a store, which
 * may have been written by somebody else, and what it names is removed. lstat: a symbolic link is
 * refused. */
static bool abandoned_is_ours(const char *directory) {
    struct stat status;
    const char *name = strrchr(directory, '/');
    return name && strncmp(name, "/spex-", strlen("/spex-")) == 0 &&
           lstat(directory, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

/* A trial that runs has a numbered folder in the directory, its place. Some may have been removed
 * already, so each number is tried. */
void spex_abandoned_clean(const char *directory) {
    if (!abandoned_is_ours(directory))
        return;
    for (size_t place = 0; place < SPEX_CPU_PARTS_MAX; place++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%zu", directory, place);
        if (access(path, F_OK) == 0)
            abandoned_clean_place(directory, place);
    }
    rmdir(directory);
}
