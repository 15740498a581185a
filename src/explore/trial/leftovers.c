/* SPDX-License-Identifier: MIT */
/* Finds processes by a variable in /proc/PID/environ, which they have inherited from the program. A
 * process group would not do: daemons leave it. Programs that change their environment beyond
 * recognition, or of other users, are not found. */
#define _GNU_SOURCE
#include "explore/trial/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "text/number.h"
#include "text/waits.h"

/* Passes over /proc: a process may fork while it is being looked at, and its child is then found in
 * a later pass. */
#define PASSES_MAX 16

/* Bytes of an environment that are searched. */
#define ENVIRONMENT_BYTES (256 * 1024)

/* Times that the environment of a process is read while it reads as nothing, 1 ms apart. Those do
 * not count in which it only waits for a processor, up to WAITS_MAX. */
#define READINGS_MAX 20
#define WAITS_MAX    2000

/* Reads up to `size` bytes of /proc/PID/FILE. Returns how many: 0, too, for a process that has
 * ended or may not be looked at. */
static size_t process_read(const char *pid, const char *file, char *bytes, size_t size) {
    char path[64];
    size_t length = 0;
    snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    for (ssize_t got; length < size; length += (size_t)got)
        if ((got = read(fd, bytes + length, size - length)) <= 0)
            break;
    close(fd);
    return length;
}

/* Returns whether the process is to run, and has not had a processor since the last call.
 * `used_ns`: the processor time that it had used then. */
static bool waits_for_processor(const char *pid, uint64_t *used_ns) {
    char stat[128], times[64];
    size_t stat_length = process_read(pid, "stat", stat, sizeof(stat) - 1);
    size_t length = process_read(pid, "schedstat", times, sizeof(times) - 1);
    stat[stat_length] = times[length] = '\0';
    uint64_t before = *used_ns;
    *used_ns = strtoull(times, NULL, 10);
    return length > 0 && *used_ns == before && strstr(stat, ") R ");
}

/* Returns whether the process is a program: kernel threads and those that have ended have none. */
static bool has_program(const char *pid) {
    char path[64], target[1];
    snprintf(path, sizeof(path), "/proc/%.20s/exe", pid);
    return readlink(path, target, sizeof(target)) > 0;
}

/* Returns whether the environment of the process has `variable`, "NAME=value". `environment` is
 * room for ENVIRONMENT_BYTES. While a process executes another program its environment reads as
 * nothing, so one that reads as nothing is read again. */
static bool has_variable(const char *pid, const char *variable, char *environment) {
    size_t length = process_read(pid, "environ", environment, ENVIRONMENT_BYTES);
    uint64_t used_ns = 0;
    for (int again = 1, waits = 0; again < READINGS_MAX && length == 0 && has_program(pid);) {
        spex_wait_ns(1000000);
        bool waited = waits_for_processor(pid, &used_ns) && ++waits < WAITS_MAX;
        again += !waited;
        length = process_read(pid, "environ", environment, ENVIRONMENT_BYTES);
    }
    /* Including the terminating zero byte: a longer value must not match. */
    return memmem(environment, length, variable, strlen(variable) + 1) != NULL;
}

/* Errors are ignored: without adoption leftovers are looked for in /proc every time. */
int spex_leftovers_adopt(void) {
    int before = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return before;
}

void spex_leftovers_let_go(int before) {
    prctl(PR_SET_CHILD_SUBREAPER, before);
}

/* Returns whether the process adopts orphans and has no children, so that nothing is left. This
 * saves reading /proc for every process of the machine. */
static bool leftovers_none(void) {
    siginfo_t info;
    int adopting = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &adopting);
    return adopting && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 &&
           errno == ECHILD;
}

/* Kills the processes found in one pass; true if there was one. Those adopted are reaped; waitpid
 * fails at once for the others. */
static bool leftovers_kill_pass(const char *variable, char *environment) {
    bool found = false;
    DIR *processes = opendir("/proc");
    if (!processes)
        return false;
    for (const struct dirent *entry; (entry = readdir(processes));) {
        int64_t pid;
        if (spex_number_integer(entry->d_name, &pid) && pid != getpid() &&
            has_variable(entry->d_name, variable, environment) && kill((pid_t)pid, SIGKILL) == 0) {
            found = true;
            waitpid((pid_t)pid, NULL, __WALL);
        }
    }
    closedir(processes);
    return found;
}

void spex_leftovers_kill(const char *variable) {
    if (!leftovers_none())
        spex_leftovers_kill_anywhere(variable);
}

/* Ends at a pass that finds nothing. A program that forks faster than it is killed survives
 * PASSES_MAX passes. */
void spex_leftovers_kill_anywhere(const char *variable) {
    char *environment = malloc(ENVIRONMENT_BYTES);
    for (int pass = 0; environment && pass < PASSES_MAX; pass++)
        if (!leftovers_kill_pass(variable, environment))
            break;
    free(environment);
}
