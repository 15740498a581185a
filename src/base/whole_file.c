/* SPDX-License-Identifier: MIT */
/* A regular file is written under a random name in its directory and renamed. O_EXCL and O_NOFOLLOW
 * keep others, who may have put something there, from choosing what is written to. */
#define _GNU_SOURCE
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text/write_signals.h"

/* Most links in a row, as in the kernel. */
#define LINKS_MAX 40

/* How long is waited each time for the other end of a pipe, 10 s, in steps after which signals are
 * looked at. */
enum { WAIT_STEP_MS = 100, WAIT_STEPS = 100 };

/* Whether the process has got a signal to end, and has blocked it to hear it at a better time. */
static bool is_to_end(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
            sigismember(&pending, SIGHUP) == 1);
}

/* Waits for the other end of a pipe. What is no pipe is ready always.
 * 0; -EINTR: a signal has come; -ETIMEDOUT. */
static int wait_for_other_end(int fd, short events) {
    struct pollfd end = {.fd = fd, .events = events};
    int ready = 0;
    for (int step = 0; ready == 0 && step < WAIT_STEPS; step++) {
        if (is_to_end())
            return -EINTR;
        ready = poll(&end, 1, WAIT_STEP_MS);
    }
    return ready ? 0 : -ETIMEDOUT;
}

/* As open(), but without waiting for ever for a pipe's reader. A descriptor that does not block. */
static int open_in_time(const char *path, int flags) {
    int fd = -1;
    for (int step = 0; fd < 0 && step < WAIT_STEPS; step++) {
        if (step > 0)
            poll(NULL, 0, WAIT_STEP_MS);
        fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 && (errno != ENXIO || is_to_end()))
            break;
    }
    return fd < 0 ? -errno : fd;
}

static const char *text_of(int err) {
    return err == -ETIMEDOUT ? "nobody writes to it"
           : err == -EINTR   ? "ended by a signal"
           : err == -ENXIO   ? "nobody reads it"
                             : strerror(-err);
}

/* As read(), but not for ever where `waits` is not set. */
static ssize_t read_some(int fd, bool waits, char *bytes, size_t size) {
    int err = waits ? 0 : wait_for_other_end(fd, POLLIN);
    ssize_t got = err ? err : read(fd, bytes, size);
    return got < 0 && !err ? -errno : got;
}

/* Reads up to the end, or one byte more than `most`. */
static int read_up_to(int fd, bool waits, size_t most, char **text, size_t *length) {
    size_t room = 0;
    for (;;) {
        if (*length == room) {
            room = room ? 2 * room : 4096;
            room = room > most ? most + 1 : room;
            char *grown = realloc(*text, room + 1);
            if (!grown)
                return -ENOMEM;
            *text = grown;
        }
        ssize_t got = read_some(fd, waits, *text + *length, room - *length);
        if (got < 0 && (got != -EINTR || is_to_end()))
            return (int)got;
        *length += got > 0 ? (size_t)got : 0;
        (*text)[*length] = '\0';
        if (*length > most)
            return -EFBIG;
        if (got == 0)
            return 0;
    }
}

/* Opening a pipe would wait for a writer, without O_NONBLOCK, which regular files ignore. */
static int open_of_kind(const char *path, enum spex_file_kind kind) {
    struct stat found;
    if (kind != SPEX_FILE_REGULAR)
        return open_in_time(path, O_RDONLY);
    int err = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &found) != 0)
        err = -errno;
    else if (!S_ISREG(found.st_mode))
        err = -EINVAL;
    if (err)
        close(fd);
    return err ? err : fd;
}

int spex_whole_file_read(const char *path, enum spex_file_kind kind, size_t most, char **text,
                         size_t *length, struct spex_error *error) {
    int fd = path ? open_of_kind(path, kind) : STDIN_FILENO;
    const char *name = path ? path : "standard input";
    *text = NULL;
    *length = 0;
    int err = fd < 0 ? fd : read_up_to(fd, !path, most, text, length);
    if (path && fd >= 0)
        close(fd);
    if (!err)
        return 0;
    free(*text);
    *text = NULL;
    if (err == -EFBIG)
        return spex_fail(error, err, "cannot read %s: at most %zu MiB were expected", name,
                         most >> 20);
    if (fd == -EINVAL)
        return spex_fail(error, err, "cannot read %s: a regular file was expected", name);
    return spex_fail(error, err, "cannot read %s: %s", name, text_of(err));
}

/* Length of the path's directory with its slash; 0: the path is a name alone. */
static size_t directory_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Whether the file is another user's in a directory where everybody may put one. */
static bool is_foreign(const char *path, const struct stat *file) {
    char directory[4096];
    struct stat place;
    size_t length = directory_length(path);
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

/* What a link leads to, to be freed; NULL with errno. */
static char *link_target(const char *path) {
    char text[4096], *target = NULL;
    ssize_t length = readlink(path, text, sizeof(text));
    if (length < 0 || (size_t)length == sizeof(text)) {
        errno = length < 0 ? errno : ENAMETOOLONG;
        return NULL;
    }
    size_t before = text[0] == '/' ? 0 : directory_length(path);
    if (asprintf(&target, "%.*s%.*s", (int)before, path, (int)length, text) < 0)
        return NULL;
    return target;
}

/* Follows the links at the end of the path; what they lead to need not be there. `*target` is to be
 * freed. */
static int follow_links(const char *path, char **target) {
    struct stat at;
    *target = strdup(path);
    for (int links = 0; *target; links++) {
        if (lstat(*target, &at) != 0 || !S_ISLNK(at.st_mode))
            return 0;
        bool foreign = is_foreign(*target, &at);
        char *next = foreign || links == LINKS_MAX ? NULL : link_target(*target);
        int err = foreign ? -EACCES : links == LINKS_MAX ? -ELOOP : next ? 0 : -errno;
        free(*target);
        *target = next;
        if (err)
            return err;
    }
    return -ENOMEM;
}

static int write_all(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        int err = written >= 0 || errno == EINTR ? 0 : -errno;
        err = err == -EAGAIN ? wait_for_other_end(fd, POLLOUT) : err;
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

/* Gives the file the mode of the one that it is to replace, if there is one. */
static int mode_keep(int fd, const char *target) {
    struct stat old;
    return lstat(target, &old) == 0 && fchmod(fd, old.st_mode & 0777) != 0 ? -errno : 0;
}

int spex_whole_file_open_beside(const char *target, char **name) {
    uint64_t number;
    *name = NULL;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return -EIO;
    if (asprintf(name, "%.*s.spex-%016" PRIx64, (int)directory_length(target), target, number) < 0)
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
        free(*name);
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
    free(name);
    return err;
}

static int write_into(const char *path, const void *bytes, size_t size) {
    int fd = open_in_time(path, O_WRONLY);
    return fd < 0 ? fd : write_and_close(fd, bytes, size);
}

int spex_whole_file_write(const char *path, const void *bytes, size_t size,
                          struct spex_error *error) {
    struct stat old;
    char *target;
    int err = follow_links(path, &target);
    if (!err)
        err = stat(path, &old) == 0 && !S_ISREG(old.st_mode) ? write_into(path, bytes, size)
                                                             : replace(target, bytes, size);
    free(target);
    return err ? spex_fail(error, err, "cannot write %s: %s", path, text_of(err)) : 0;
}

/* What is no regular file is only asked for its permissions: opening it may wait. */
int spex_whole_file_check(const char *path) {
    struct stat old;
    char *target, *name = NULL;
    if (stat(path, &old) == 0 && !S_ISREG(old.st_mode))
        return S_ISDIR(old.st_mode) ? -EISDIR : access(path, W_OK) == 0 ? 0 : -errno;
    int err = follow_links(path, &target),
        fd = err ? err : spex_whole_file_open_beside(target, &name);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && name)
        unlink(name);
    free(name);
    free(target);
    return fd < 0 ? fd : 0;
}

int spex_whole_file_target(const char *path, char **target) {
    struct stat at;
    int err = follow_links(path, target);
    if (!err && lstat(*target, &at) == 0 && !S_ISREG(at.st_mode))
        err = S_ISDIR(at.st_mode) ? -EISDIR : -EINVAL;
    if (err) {
        free(*target);
        *target = NULL;
    }
    return err;
}

/* Opens a file that is there. Without O_TRUNC: it is looked at before it is emptied. */
static int existing_open(const char *target) {
    struct stat found;
    if (lstat(target, &found) != 0)
        return -errno;
    if (is_foreign(target, &found))
        return -EACCES;
    int fd = open(target, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
    int err = fd < 0 || fstat(fd, &found) != 0 ? -errno : 0;
    if (!err && is_foreign(target, &found))
        err = -EACCES;
    if (!err && S_ISREG(found.st_mode) && ftruncate(fd, 0) != 0)
        err = -errno;
    if (err && fd >= 0)
        close(fd);
    return err ? err : fd;
}

/* The links of /dev/stdout and of what it leads to in /proc are followed by the kernel alone: they
 * lead to pipes, too. */
int spex_line_file_open(const char *path) {
    struct stat old;
    char *target;
    int fd, err = follow_links(path, &target);
    if (err)
        return err;
    if (stat(path, &old) == 0 && lstat(target, &(struct stat){0}) != 0)
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    else
        fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    err = fd < 0 ? -errno : 0;
    if (err == -EEXIST)
        fd = existing_open(target);
    else if (err)
        fd = err;
    free(target);
    return fd;
}
