/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "number.h"

/* A process that forks while it is looked for shows up in a later pass. */
#define PASSES_MAX 16

/* Environments larger than this are looked at so far. */
#define ENVIRONMENT_BYTES (256 * 1024)

static bool has_variable(const char *pid, const char *variable, char *environment) {
    char path[64];
    size_t length = 0;
    snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    for (ssize_t got; length < ENVIRONMENT_BYTES; length += (size_t)got)
        if ((got = read(fd, environment + length, ENVIRONMENT_BYTES - length)) <= 0)
            break;
    close(fd);
    /* With the zero byte that ends it. */
    return memmem(environment, length, variable, strlen(variable) + 1) != NULL;
}

/* Whether there was one to kill. */
static bool kill_once(const char *variable, char *environment) {
    bool found = false;
    DIR *processes = opendir("/proc");
    if (!processes)
        return false;
    for (const struct dirent *entry; (entry = readdir(processes));) {
        int64_t pid;
        if (spex_number_integer(entry->d_name, &pid) && pid != getpid() &&
            has_variable(entry->d_name, variable, environment) && kill((pid_t)pid, SIGKILL) == 0)
            found = true;
    }
    closedir(processes);
    return found;
}

void spex_leftovers_kill(const char *variable) {
    char *environment = malloc(ENVIRONMENT_BYTES);
    for (int pass = 0; environment && pass < PASSES_MAX; pass++)
        if (!kill_once(variable, environment))
            break;
    free(environment);
}
