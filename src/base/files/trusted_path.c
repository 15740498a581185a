/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/files/trusted_path.h"
#include "base/memory/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Most links in a row, as in the kernel. */
enum { LINKS_MAX = 40 };

size_t spex_path_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Whether the file is another user's in a directory where everybody may put one. */
static bool is_foreign(const char *path, const struct stat *file) {
    char directory[4096];
    struct stat place;
    size_t length = spex_path_directory(path);
    if (file->st_uid == geteuid())
        return false;
    if (length >= sizeof(directory))
        return true;
    snprintf(directory, sizeof(directory), "%.*s.", (int)length, path);
    if (stat(directory, &place) != 0)
        return true;
    return (place.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH) &&
           place.st_uid != file->st_uid;
}

/* The target of a link, to be freed; NULL with errno. */
static char *link_target(const char *path) {
    char text[4096], *target = NULL;
    ssize_t length = readlink(path, text, sizeof(text));
    if (length < 0 || (size_t)length == sizeof(text)) {
        errno = length < 0 ? errno : ENAMETOOLONG;
        return NULL;
    }
    size_t before = text[0] == '/' ? 0 : spex_path_directory(path);
    if (spex_asprintf(&target, "%.*s%.*s", (int)before, path, (int)length, text) < 0)
        return NULL;
    return target;
}

int spex_path_trusted(const char *path, char **target) {
    struct stat at;
    *target = spex_strdup(path);
    for (int links = 0; *target; links++) {
        if (lstat(*target, &at) != 0 || !S_ISLNK(at.st_mode))
            return 0;
        bool foreign = is_foreign(*target, &at);
        char *next = foreign || links == LINKS_MAX ? NULL : link_target(*target);
        int err = foreign ? -EACCES : links == LINKS_MAX ? -ELOOP : next ? 0 : -errno;
        spex_free(*target);
        *target = next;
        if (err)
            return err;
    }
    return -ENOMEM;
}

/* Opens what stands at the end of the links, which may not be there. */
static int target_open(const char *target, int flags) {
    struct stat found;
    if (lstat(target, &found) != 0)
        flags |= flags & O_CREAT ? O_EXCL : 0;
    else if (is_foreign(target, &found))
        return -EACCES;
    int fd = open(target, flags | O_NOFOLLOW, 0666);
    if (fd < 0)
        return -errno;
    /* It may have been replaced in between. */
    if (fstat(fd, &found) == 0 && !is_foreign(target, &found))
        return fd;
    close(fd);
    return -EACCES;
}

/* The links of /dev/stdout and of what it leads to in /proc are followed by the kernel alone: they
 * lead to pipes, too. */
static bool is_kernels(const char *path, const char *target) {
    struct stat found;
    return lstat(target, &found) != 0 && stat(path, &found) == 0;
}

int spex_path_open(const char *path, int flags) {
    char *target;
    int fd = spex_path_trusted(path, &target);
    if (fd)
        return fd;
    if (is_kernels(path, target))
        fd = (fd = open(path, flags & ~O_CREAT)) < 0 ? -errno : fd;
    else
        fd = target_open(target, flags);
    if (fd == -EEXIST) /* another process has made it in between */
        fd = target_open(target, flags);
    spex_free(target);
    return fd;
}
