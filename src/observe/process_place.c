/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "process_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../printable.h"

/* The environment a process was started with; more of it is not looked at. */
enum { ENVIRONMENT_MAX = 1 << 20 };

static FILE *proc_open(pid_t process, const char *file) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, file);
    return fopen(path, "re");
}

static int read_status(struct spex_process_place *place, pid_t *inside) {
    FILE *file = proc_open(place->process, "status");
    char line[512];
    unsigned uids[4];
    if (!file)
        return errno == ENOENT ? -ESRCH : -errno;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Uid: %u %u %u %u", &uids[1], &uids[0], &uids[2], &uids[3]) == 4)
            for (int u = 0; u < 4; u++)
                place->users[u] = uids[u];
        sscanf(line, "Name: %63[^\n]", place->command);
        if (strncmp(line, "NSpid:", 6) == 0)
            *inside = (pid_t)strtol(strrchr(line, '\t') + 1, NULL, 10);
    }
    fclose(file);
    spex_make_printable(place->command);
    return 0;
}

/* A user's number in the process's own user namespace. */
static uid_t user_inside(pid_t process, uid_t user) {
    FILE *file = proc_open(process, "uid_map");
    unsigned inside, outside, count;
    uid_t found = user;
    while (file && fscanf(file, "%u %u %u", &inside, &outside, &count) == 3)
        if (user >= outside && user - outside < count)
            found = inside + (user - outside);
    if (file)
        fclose(file);
    return found;
}

static unsigned long namespace_of(pid_t process) {
    char path[64], target[64] = "";
    unsigned long number = 0;
    snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)process);
    if (readlink(path, target, sizeof(target) - 1) < 0 &&
        readlink("/proc/self/ns/pid", target, sizeof(target) - 1) < 0)
        return 0;
    return sscanf(target, "pid:[%lu]", &number) == 1 ? number : 0;
}

static char *copy_variable(const char *entry, const char *name) {
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=' && entry[length + 1]
               ? strdup(entry + length + 1)
               : NULL;
}

static void read_environment(struct spex_process_place *place) {
    FILE *file = proc_open(place->process, "environ");
    char *text = file ? malloc(ENVIRONMENT_MAX + 1) : NULL;
    size_t length = text ? fread(text, 1, ENVIRONMENT_MAX, file) : 0;
    if (text)
        text[length] = '\0';
    for (size_t at = 0; at < length; at += strlen(text + at) + 1) {
        if (!place->chosen)
            place->chosen = copy_variable(text + at, "SPEX_CONTROL");
        if (!place->runtime)
            place->runtime = copy_variable(text + at, "XDG_RUNTIME_DIR");
    }
    free(text);
    if (file)
        fclose(file);
}

int spex_process_place(pid_t process, struct spex_process_place *place) {
    pid_t inside = process;
    *place = (struct spex_process_place){.process = process};
    int err = read_status(place, &inside);
    if (err)
        return err;
    place->users[4] = user_inside(process, place->users[0]);
    place->users[5] = 0;
    snprintf(place->name, sizeof(place->name), "%d-%lu", (int)inside, namespace_of(process));
    read_environment(place);
    return 0;
}

void spex_process_place_free(struct spex_process_place *place) {
    free(place->chosen);
    free(place->runtime);
    place->chosen = place->runtime = NULL;
}
