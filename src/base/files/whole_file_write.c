/* SPDX-License-Identifier: MIT */
/* A regular file is written under a random name in its directory and renamed. O_EXCL and O_NOFOLLOW
 * keep others, who may have put something there, from choosing what is written to. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/pipe_end.h"
#include "base/files/trusted_path.h"
#include "base/files/whole_file.h"
#include "base/memory/memory.h"
#include "text/write_signals.h"

static int write_all(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        int err = written >= 0 || errno == EINTR ? 0 : -errno;
        err = err == -EAGAIN ? spex_pipe_wait(fd, POLLOUT) : err;
        if (err)
            return err == -ETIMEDOUT ? -ENXIO : err;
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

static int write_and_close(int fd, const void *bytes, size_t size) {
    struct spex_write_signals signals;
    spex_write_signals_hold(&signals);
    int err = write_all(fd, bytes, size);
    spex_write_signals_release(&signals);
    if (close(fd) != 0 && !err)
        err = -errno;
    return err;
}

/* Gives the file the mode of the one that it is to replace, if there is one of this user: others
 * may have made theirs so that they can write to it. */
static int mode_keep(int fd, const char *target) {
    struct stat old;
    bool keeps = lstat(target, &old) == 0 && old.st_uid == geteuid();
    return keeps && fchmod(fd, old.st_mode & 0777) != 0 ? -errno : 0;
}

int spex_whole_file_open_beside(const char *target, char **name) {
    uint64_t number;
    *name = NULL;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return -EIO;
    if (spex_asprintf(name, "%.*s.spex-%016" PRIx64, (int)spex_path_directory(target), target,
                      number) < 0)
        *name = NULL;
    if (!*name)
        return -ENOMEM;
    int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    int err = fd < 0 ? -errno : mode_keep(fd, target);
    if (err && fd >= 0) {
        close(fd);
        unlink(*name);
    }
    if (err) {
        spex_free(*name);
        *name = NULL;
    }
    return err ? err : fd;
}

static int replace(const char *target, const void *bytes, size_t size) {
    char *name;
    int fd = spex_whole_file_open_beside(target, &name), err = fd;
    if (name) {
        err = write_and_close(fd, bytes, size);
        if (!err && rename(name, target) != 0)
            err = -errno;
        if (err)
            unlink(name);
    }
    spex_free(name);
    return err;
}

static int write_into(const char *path, const void *bytes, size_t size) {
    int fd = spex_pipe_open(path, O_WRONLY);
    return fd < 0 ? fd : write_and_close(fd, bytes, size);
}

int spex_whole_file_write(const char *path, const void *bytes, size_t size,
                          struct spex_error *error) {
    struct stat old;
    char *target;
    int err = spex_path_trusted(path, &target);
    if (!err)
        err = stat(path, &old) == 0 && !S_ISREG(old.st_mode) ? write_into(path, bytes, size)
                                                             : replace(target, bytes, size);
    spex_free(target);
    return err ? spex_fail(error, err, "cannot write %s: %s", path, spex_pipe_error(err)) : 0;
}

/* Of other than regular files only the permissions are checked: opening them may wait. */
int spex_whole_file_check(const char *path) {
    struct stat old;
    char *target, *name = NULL;
    if (stat(path, &old) == 0 && !S_ISREG(old.st_mode))
        return S_ISDIR(old.st_mode) ? -EISDIR : access(path, W_OK) == 0 ? 0 : -errno;
    int err = spex_path_trusted(path, &target),
        fd = err ? err : spex_whole_file_open_beside(target, &name);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && name)
        unlink(name);
    spex_free(name);
    spex_free(target);
    return fd < 0 ? fd : 0;
}

int spex_whole_file_target(const char *path, char **target) {
    struct stat at;
    int err = spex_path_trusted(path, target);
    if (!err && lstat(*target, &at) == 0 && !S_ISREG(at.st_mode))
        err = S_ISDIR(at.st_mode) ? -EISDIR : -EINVAL;
    if (err) {
        spex_free(*target);
        *target = NULL;
    }
    return err;
}

/* Without O_TRUNC: it is looked at before it is emptied. */
int spex_line_file_open(const char *path) {
    struct stat found;
    int fd = spex_path_open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fd;
    int err =
        fstat(fd, &found) != 0 || (S_ISREG(found.st_mode) && ftruncate(fd, 0) != 0) ? -errno : 0;
    if (err)
        close(fd);
    return err ? err : fd;
}
