/* SPDX-License-Identifier: MIT */
/* What /proc tells of names and parents is read first, and only the processes that it leaves are
 * connected to. */
#define _GNU_SOURCE
#include "observe/workers.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/control_client.h"

/* Parents that are asked for at most: a process that is being looked at may get another one. */
enum { DEPTH_MAX = 64 };

/* Adds the process to the list. 0 or -ENOMEM. */
static int list_append(pid_t **processes, long count, pid_t process) {
    pid_t *grown = realloc(*processes, (size_t)(count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    *processes = grown;
    grown[count] = process;
    return 0;
}

static enum spex_process_look any(void *user, pid_t process) {
    (void)user;
    (void)process;
    return SPEX_PROCESS_TRY;
}

/* Looks at every process in /proc. */
long spex_processes_list_where(spex_process_looker *look, void *user, pid_t **processes) {
    DIR *entries = opendir("/proc");
    const struct dirent *entry;
    long count = 0;
    int err = entries ? 0 : -errno;
    *processes = NULL;
    while (entries && !err && (entry = readdir(entries))) {
        char *end;
        long process = strtol(entry->d_name, &end, 10);
        bool is = !*end && process > 0;
        enum spex_process_look what = is ? look(user, (pid_t)process) : SPEX_PROCESS_LEAVE;
        int has = what == SPEX_PROCESS_TRY ? spex_client_has_socket((pid_t)process)
                                           : what == SPEX_PROCESS_TAKE;
        err = has > 0 ? list_append(processes, count, (pid_t)process) : has;
        count += has > 0;
    }
    if (entries)
        closedir(entries);
    if (err) {
        free(*processes);
        *processes = NULL;
    }
    return err ? err : count;
}

long spex_processes_list(pid_t **processes) {
    return spex_processes_list_where(any, NULL, processes);
}

/* Reads the beginning of a file of the process in /proc: empty where that is not possible. */
static void process_read(pid_t process, const char *what, char *text, size_t size) {
    char path[48];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, what);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
}

/* The parent and the session of a process; false: there is no such process. The name, in brackets,
 * may hold anything. */
static bool parent_of(pid_t process, pid_t *parent, pid_t *session) {
    char line[512];
    process_read(process, "stat", line, sizeof(line));
    const char *behind = strrchr(line, ')');
    /* ") S 4711 4711 4711": the state, the parent, the group and the session. */
    long numbers[3] = {0};
    char *at = behind && strlen(behind) > 3 ? (char *)behind + 3 : NULL;
    for (int n = 0; at && n < 3; n++) {
        char *from = at;
        numbers[n] = strtol(from, &at, 10);
        at = at == from ? NULL : at;
    }
    if (at) {
        *parent = (pid_t)numbers[0];
        *session = (pid_t)numbers[2];
    }
    return at != NULL;
}

/* Whether both run the same file, as a program does that has forked. */
static bool run_the_same(pid_t process, pid_t other) {
    char one[PATH_MAX + 1], two[PATH_MAX + 1], path[48];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)process);
    ssize_t length = readlink(path, one, sizeof(one));
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)other);
    return length > 0 && readlink(path, two, sizeof(two)) == length &&
           memcmp(one, two, (size_t)length) == 0;
}

bool spex_workers_descend(pid_t process, pid_t ancestor) {
    pid_t at = process, parent, session, of, its_parent;
    if (ancestor <= 1 || !parent_of(ancestor, &its_parent, &of) ||
        !parent_of(process, &parent, &session))
        return false;
    for (int depth = 1; parent != ancestor; depth++) {
        at = parent;
        if (at <= 0 || depth == DEPTH_MAX || !parent_of(at, &parent, &(pid_t){0}))
            return false;
    }
    return session == of || run_the_same(process, ancestor);
}

static bool path_ends_in(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, name) == 0;
}

/* By its name, of which the kernel keeps the beginning and which the program may change; by the
 * argument that it was started with, which is what spex shows; or by its file. */
static bool is_called(pid_t process, const char *name) {
    char text[PATH_MAX + 1], path[48];
    process_read(process, "comm", text, sizeof(text));
    text[strcspn(text, "\n")] = '\0';
    if (strcmp(text, name) == 0)
        return true;
    process_read(process, "cmdline", text, sizeof(text));
    if (path_ends_in(text, name))
        return true;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)process);
    ssize_t length = readlink(path, text, sizeof(text) - 1);
    text[length > 0 ? length : 0] = '\0';
    return path_ends_in(text, name);
}

static bool is_wanted(const struct spex_workers_of *of, pid_t process) {
    if (of->wanted)
        return of->wanted(of->user, process);
    return of->name ? is_called(process, of->name) : spex_workers_descend(process, of->process);
}

static bool is_among(pid_t process, const pid_t *known, long count) {
    for (long k = 0; k < count; k++)
        if (known[k] == process)
            return true;
    return false;
}

static int order_by_number(const void *a, const void *b) {
    pid_t one = *(const pid_t *)a, other = *(const pid_t *)b;
    return (one > other) - (one < other);
}

struct sought {
    const struct spex_workers_of *of;
    const pid_t *known;
    long known_count;
};

static enum spex_process_look look(void *user, pid_t process) {
    const struct sought *sought = user;
    if (!is_wanted(sought->of, process))
        return SPEX_PROCESS_LEAVE;
    return is_among(process, sought->known, sought->known_count) ? SPEX_PROCESS_TAKE
                                                                 : SPEX_PROCESS_TRY;
}

/* A process with a socket of its own is meant by itself. */
static long find_itself(pid_t process, pid_t **processes) {
    int has = spex_client_has_socket(process);
    if (has <= 0)
        return has;
    *processes = malloc(sizeof(**processes));
    if (!*processes)
        return -ENOMEM;
    **processes = process;
    return 1;
}

long spex_workers_find(const struct spex_workers_of *of, const pid_t *known, long known_count,
                       pid_t **processes) {
    struct sought sought = {of, known, known_count};
    *processes = NULL;
    long count = of->wanted || of->name ? 0 : find_itself(of->process, processes);
    if (!count)
        count = spex_processes_list_where(look, &sought, processes);
    if (*processes && count > 1)
        qsort(*processes, (size_t)count, sizeof(**processes), order_by_number);
    if (count <= 0) {
        free(*processes);
        *processes = NULL;
    }
    return count;
}
