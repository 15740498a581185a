/* SPDX-License-Identifier: MIT */
/* Reads from /proc what the path of a control socket depends on: users, namespaces and
 * environment of the process. Files that this user may not read are skipped. */
#define _GNU_SOURCE
#include "observe/process_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/printable.h"

/* Bytes of the environment that are read: a process can have more. */
enum { ENVIRONMENT_MAX = 1 << 20 };

static FILE *proc_open(pid_t process, const char *file) {
    char path[128];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, file);
    return fopen(path, "re");
}

/* Reads the numbers at the beginning of `text`; returns how many there are, `most` at most. */
static int read_numbers(const char *text, unsigned *numbers, int most) {
    int count = 0;
    for (char *end; count < most; count++, text = end) {
        unsigned long number = strtoul(text, &end, 10);
        if (end == text)
            break;
        numbers[count] = (unsigned)number;
    }
    return count;
}

/* The text after `name` at the beginning of the line; NULL when the line does not begin so. */
static const char *text_after(const char *line, const char *name) {
    size_t length = strlen(name);
    return strncmp(line, name, length) == 0 ? line + length : NULL;
}

/* "Uid:" has the real, effective, saved and file system user; the effective one names the
 * directory most often. The last number of "NSpid:" is the process id in its own namespace. */
static void read_status_line(struct spex_process_place *place, const char *line, pid_t *inside) {
    unsigned uids[4];
    const char *text;
    if ((text = text_after(line, "Uid:")) && read_numbers(text, uids, 4) == 4) {
        place->users[0] = uids[1];
        place->users[1] = uids[0];
        place->users[2] = uids[2];
        place->users[3] = uids[3];
    } else if ((text = text_after(line, "Name:\t"))) {
        snprintf(place->command, sizeof(place->command), "%.*s", (int)strcspn(text, "\n"), text);
    } else if ((text = text_after(line, "NSpid:")) && (text = strrchr(text, '\t'))) {
        *inside = (pid_t)strtol(text + 1, NULL, 10);
    }
}

/* Sets the users, the command, and *inside, the process id in its own PID namespace. -ESRCH
 * when the process does not exist. */
static int read_status(struct spex_process_place *place, pid_t *inside) {
    FILE *file = proc_open(place->process, "status");
    char line[512];
    if (!file)
        return errno == ENOENT ? -ESRCH : -errno;
    while (fgets(line, sizeof(line), file))
        read_status_line(place, line, inside);
    fclose(file);
    spex_make_printable(place->command);
    return 0;
}

/* A user's number in the user namespace of the process, by the lines "inside outside count" of
 * uid_map. */
static uid_t user_in_namespace(pid_t process, uid_t user) {
    FILE *file = proc_open(process, "uid_map");
    char line[128];
    unsigned map[3];
    uid_t found = user;
    while (file && fgets(line, sizeof(line), file) && read_numbers(line, map, 3) == 3)
        if (user >= map[1] && user - map[1] < map[2])
            found = map[0] + (user - map[1]);
    if (file)
        fclose(file);
    return found;
}

/* The PID namespace of the process. Where this user may not read it, our own is the best guess. */
static unsigned long pid_namespace_of(pid_t process) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)process);
    unsigned long number = spex_control_namespace(path);
    return number ? number : spex_control_namespace("/proc/self/ns/pid");
}

/* The value of the variable, to be freed, if the entry is of that name and has a value; else
 * NULL. */
static char *copy_variable(const char *entry, const char *name) {
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=' && entry[length + 1]
               ? strdup(entry + length + 1)
               : NULL;
}

/* Reads /proc/PID/NAME, which has the variables as they were at exec. Returns their bytes; 0 where
 * that thread has ended. */
static size_t read_variables(pid_t process, const char *name, char *text) {
    FILE *file = proc_open(process, name);
    size_t length = file ? fread(text, 1, ENVIRONMENT_MAX, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    return length;
}

/* The main thread may have ended before the process. Each of the others has the variables, too. */
static size_t read_variables_of_any_thread(pid_t process, char *text) {
    char path[64];
    size_t length = read_variables(process, "environ", text);
    snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    DIR *threads = length == 0 ? opendir(path) : NULL;
    for (struct dirent *thread; threads && length == 0 && (thread = readdir(threads));) {
        snprintf(path, sizeof(path), "task/%.20s/environ", thread->d_name);
        length = read_variables(process, path, text);
    }
    if (threads)
        closedir(threads);
    return length;
}

/* SPEX_CONTROL that the program has set later is not seen. */
static void read_environment(struct spex_process_place *place) {
    char *text = malloc(ENVIRONMENT_MAX + 1);
    size_t length = text ? read_variables_of_any_thread(place->process, text) : 0;
    for (size_t at = 0; at < length; at += strlen(text + at) + 1) {
        if (!place->chosen)
            place->chosen = copy_variable(text + at, "SPEX_CONTROL");
        if (!place->runtime)
            place->runtime = copy_variable(text + at, "XDG_RUNTIME_DIR");
    }
    free(text);
}

/* The socket has the process id of the innermost PID namespace and the number of that namespace
 * in its name. */
int spex_process_place(pid_t process, struct spex_process_place *place) {
    pid_t inside = process;
    *place = (struct spex_process_place){.process = process};
    int err = read_status(place, &inside);
    if (err)
        return err;
    place->users[4] = user_in_namespace(process, place->users[0]);
    place->users[5] = 0;
    snprintf(place->name, sizeof(place->name), "%d-%lu", (int)inside, pid_namespace_of(process));
    read_environment(place);
    return 0;
}

void spex_process_place_free(struct spex_process_place *place) {
    free(place->chosen);
    free(place->runtime);
    place->chosen = place->runtime = NULL;
}
