/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/pipe_end.h"
#include "base/files/whole_file.h"
#include "base/memory/memory.h"

/* As read(), but not for ever where `waits` is not set. */
static ssize_t read_some(int fd, bool waits, char *bytes, size_t size) {
    int err = waits ? 0 : spex_pipe_wait(fd, POLLIN);
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
            char *grown = spex_realloc(*text, room + 1);
            if (!grown)
                return -ENOMEM;
            *text = grown;
        }
        ssize_t got = read_some(fd, waits, *text + *length, room - *length);
        if (got < 0 && (got != -EINTR || spex_signal_ends()))
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
        return spex_pipe_open(path, O_RDONLY);
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
    spex_free(*text);
    *text = NULL;
    if (err == -EFBIG)
        return spex_fail(error, err, "cannot read %s: at most %zu MiB were expected", name,
                         most >> 20);
    if (fd == -EINVAL)
        return spex_fail(error, err, "cannot read %s: a regular file was expected", name);
    return spex_fail(error, err, "cannot read %s: %s", name, spex_pipe_error(err));
}
