/* SPDX-License-Identifier: MIT */
/* The library lies where it was installed with this command, or in the same build. */
#define _GNU_SOURCE
#include "tools/common/preload.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/objects/elf_file.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/find_program.h"

/* From the folder that has this command. */
static const char *const places[] = {"../" SPEX_LIBDIR, "../src"};

/* The folder that has this command, without links. False: it is not known. */
static bool own_folder(char folder[PATH_MAX]) {
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    return slash;
}

static bool library_find(char path[PATH_MAX]) {
    char folder[PATH_MAX], tried[2 * PATH_MAX];
    if (!own_folder(folder))
        return false;
    for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
        snprintf(tried, sizeof(tried), "%s/%s/libspex-preload.so", folder, places[p]);
        if (realpath(tried, path))
            return true;
    }
    return false;
}

/* Whether the file is of a program that the loader of shared libraries does not load. */
static bool is_static(const char *path) {
    struct spex_elf_file file;
    struct spex_error error;
    int fd = spex_regular_file_open(path, &error);
    bool loaded = fd < 0 || spex_elf_file_open(fd, path, &file, &error) != 0;
    if (!loaded) {
        for (size_t s = 0; s < file.segment_count; s++)
            loaded |= file.segments[s].p_type == PT_INTERP;
        spex_elf_file_close(&file);
    }
    if (fd >= 0)
        close(fd);
    return !loaded;
}

/* Whether the program gets the rights of another user, where the loader preloads nothing. */
static bool is_of_another(const char *path) {
    struct stat is;
    return stat(path, &is) == 0 && (((is.st_mode & S_ISUID) && is.st_uid != getuid()) ||
                                    ((is.st_mode & S_ISGID) && is.st_gid != getgid()));
}

/* What the program starts itself gets the library all the same. */
static void complain_of_program(const char *command, const char *program) {
    char *path = spex_find_program(program);
    const char *why = !path                 ? NULL
                      : is_static(path)     ? "is linked statically"
                      : is_of_another(path) ? "is a set-user-ID program"
                                            : NULL;
    if (why)
        spex_complain(0, "%s: nothing can be preloaded into %s, which %s", command, program, why);
    free(path);
}

/* Behind what is there, some of which must come first. */
int spex_preload_value(const char *command, const char *program, char **value) {
    const char *before = getenv("LD_PRELOAD");
    char path[PATH_MAX];
    if (!library_find(path))
        return spex_complain(SPEX_EXIT_FAILED,
                             "%s: --preload: there is no libspex-preload.so beside this command, "
                             "where it was installed with it",
                             command);
    if (strpbrk(path, " :"))
        return spex_complain(SPEX_EXIT_FAILED,
                             "%s: --preload: a path without spaces and colons was expected, "
                             "not %s",
                             command, path);
    if (asprintf(value, "%s%s%s", before ? before : "", before && *before ? ":" : "", path) < 0)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    complain_of_program(command, program);
    return SPEX_EXIT_OK;
}
