/* SPDX-License-Identifier: MIT */
/* Runs the dynamic loader of the system with --list, as ldd does, and parses what it prints.
 * The loader is not run for objects that could make it execute code or overwrite memory:
 * loader_check.h. */
#define _GNU_SOURCE
#include "observe/objects/linked_objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/objects/elf_file.h"
#include "observe/objects/loader_check.h"

enum {
    OBJECTS_MAX = 65536,
    /* Timeout: the loader may open a pipe, or a file on a server that does not answer. */
    LOADER_SECONDS = 30
};

/* Whether the loader may be run for this object. */
static int object_check(const char *path, struct spex_error *error) {
    struct spex_elf_file file;
    int fd = spex_regular_file_open(path, error);
    if (fd < 0)
        return fd;
    int err = spex_elf_file_open(fd, path, &file, error);
    if (!err) {
        err = spex_loader_check(&file, error);
        spex_elf_file_close(&file);
    }
    close(fd);
    return err;
}

/* Runs in the child. The variables that are removed make the loader run or print more than the
 * list; standard error goes to the pipe with standard output, for its messages. */
__attribute__((noreturn)) static void become_loader(const char *path, bool tolerant, int output) {
    static const char *const unwanted[] = {"LD_AUDIT",        "LD_BIND_NOW", "LD_DEBUG",
                                           "LD_DEBUG_OUTPUT", "LD_PROFILE",  "LD_VERBOSE",
                                           "LD_WARN",         "LD_SHOW_AUXV"};
    sigset_t none;
    for (size_t u = 0; u < sizeof(unwanted) / sizeof(unwanted[0]); u++)
        unsetenv(unwanted[u]);
    sigemptyset(&none);
    signal(SIGALRM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0 && dup2(nothing, 0) == 0 && dup2(output, 1) == 1 && dup2(output, 2) == 2) {
        alarm(LOADER_SECONDS);
        if (!tolerant)
            execl(spex_loader_path(), spex_loader_path(), "--list", path, (char *)NULL);
        else if (setenv("LD_TRACE_LOADED_OBJECTS", "1", 1) == 0)
            execl(spex_loader_path(), spex_loader_path(), path, (char *)NULL);
    }
    _exit(127);
}

/* `*output` is the output of the loader. The process id of the loader, or a negative errno
 * value. */
static pid_t start_loader(const char *path, bool tolerant, FILE **output,
                          struct spex_error *error) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return spex_fail(error, -errno, "cannot make a pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        become_loader(path, tolerant, ends[1]);
    int err = errno;
    close(ends[1]);
    *output = pid > 0 ? fdopen(ends[0], "r") : NULL;
    if (*output)
        return pid;
    close(ends[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return spex_fail(error, -err, "cannot start %s: %s", spex_loader_path(), strerror(err));
}

/* Appends a copy of the text. 0, -E2BIG or -ENOMEM. */
static int list_add(char ***list, size_t *count, const char *text) {
    if (*count == OBJECTS_MAX)
        return -E2BIG;
    char **grown = realloc(*list, (*count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    *list = grown;
    grown[*count] = strdup(text);
    return grown[*count] ? (++*count, 0) : -ENOMEM;
}

/* Takes a line after its tab: "libx.so.1 => /lib/libx.so.1 (0x…)", "/lib/libx.so.1 (0x…)",
 * "libx.so.1 => not found", or "linux-vdso.so.1 (0x…)", which has no file. The last " (0x" ends
 * the path, since a path may contain one. */
static int take_loader_line(char *line, struct spex_linked_objects *objects) {
    char *arrow = strstr(line, " => ");
    char *path = arrow ? arrow + 4 : line;
    if (arrow && strcmp(path, "not found") == 0) {
        *arrow = '\0';
        return list_add(&objects->missing, &objects->missing_count, line);
    }
    for (char *at = path; (at = strstr(at, " (0x")); at++)
        if (!strstr(at + 1, " (0x"))
            *at = '\0';
    return strchr(path, '/') ? list_add(&objects->found, &objects->found_count, path) : 0;
}

/* Lines of the list begin with a tab; any other line is a message, of which the last is kept in
 * `said`. */
static int take_loader_output(FILE *output, struct spex_linked_objects *objects,
                              struct spex_error *said) {
    char *line = NULL;
    size_t room = 0;
    int err = 0;
    while (getline(&line, &room, output) > 0 && !err) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '\t')
            err = take_loader_line(line + 1, objects);
        else if (*line)
            spex_error_set(said, "%s", line);
    }
    free(line);
    return err;
}

/* `tolerant`: see loader_list. */
static int run_loader(const char *path, bool tolerant, struct spex_linked_objects *objects,
                      struct spex_error *error) {
    struct spex_error said = {"it ended without a word"};
    FILE *output = NULL;
    int status = 0;
    pid_t pid = start_loader(path, tolerant, &output, error);
    if (pid < 0)
        return pid;
    int err = take_loader_output(output, objects, &said);
    fclose(output);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (err)
        return spex_fail(error, err, "its libraries cannot be listed: %s", strerror(-err));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return spex_fail(error, -ETIMEDOUT, "the loader was still busy after %d s", LOADER_SECONDS);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return spex_fail(error, -EIO, "the loader failed: %.400s", said.text);
    return 0;
}

/* --list fails at the first library that is missing. With LD_TRACE_LOADED_OBJECTS, the loader
 * of glibc goes on, which is how ldd uses it. A loader that ignored the variable would run the
 * program: the variable is used only with glibc, and not where AT_SECURE makes the loader
 * ignore such variables. */
static int loader_list(const char *path, struct spex_linked_objects *objects,
                       struct spex_error *error) {
    int err = run_loader(path, false, objects, error);
#ifdef __GLIBC__
    struct spex_error second;
    if (err == -EIO && !getauxval(AT_SECURE)) {
        spex_linked_objects_free(objects);
        if (run_loader(path, true, objects, &second) == 0)
            err = 0;
    }
#endif
    return err;
}

int spex_linked_objects_find(const char *path, struct spex_linked_objects *objects,
                             struct spex_error *error) {
    char *given = NULL;
    *objects = (struct spex_linked_objects){NULL, 0, NULL, 0};
    int err = object_check(path, error);
    if (err)
        return err;
    /* With a slash, the path is neither an option nor a name that the loader searches for. */
    if (asprintf(&given, "%s%s", *path == '/' ? "" : "./", path) < 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    err = loader_list(given, objects, error);
    free(given);
    return err;
}

static void list_free(char **list, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

void spex_linked_objects_free(struct spex_linked_objects *objects) {
    list_free(objects->found, objects->found_count);
    list_free(objects->missing, objects->missing_count);
    *objects = (struct spex_linked_objects){NULL, 0, NULL, 0};
}
