/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "trace/trace_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/write_signals.h"

enum { FILE_MODE = 0666, LEFT_FIRST = 64 };

void spex_trace_disk_free(struct spex_trace_disk *disk) {
    for (size_t f = 0; f < disk->left_count; f++)
        free(disk->left[f].path);
    free(disk->left);
    disk->left = NULL;
    disk->left_count = disk->left_room = 0;
}

static int write_rest(int fd, const char *bytes, size_t size, uint64_t at) {
    while (size) {
        ssize_t written = pwrite(fd, bytes, size, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written ? -errno : -EIO;
        bytes += written;
        at += (uint64_t)written;
        size -= (size_t)written;
    }
    return 0;
}

/* Writes all of it, at `at`. 0 or a negative errno value. */
static int write_at(int fd, const char *bytes, size_t size, uint64_t at) {
    struct spex_write_signals signals;
    spex_write_signals_hold(&signals);
    int err = write_rest(fd, bytes, size, at);
    spex_write_signals_release(&signals);
    return err;
}

static int file_open(const struct spex_trace_file *file, int flags) {
    return open(file->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, FILE_MODE);
}

/* What an earlier process of the same number has left is not written over. */
int spex_trace_file_append(struct spex_trace_disk *disk, struct spex_trace_file *file,
                           const void *bytes, size_t size) {
    int fd = file_open(file, file->bytes ? 0 : O_CREAT | O_EXCL);
    if (fd < 0)
        return -errno;
    int err = write_at(fd, bytes, size, file->bytes);
    if (err && ftruncate(fd, (off_t)file->bytes) == 0 && !file->bytes)
        unlink(file->path);
    if (close(fd) != 0 && !err)
        err = -errno;
    if (err)
        return err;
    file->bytes += size;
    disk->bytes += size;
    return 0;
}

void spex_trace_file_set_aside(const struct spex_trace_file *file, uint64_t bytes) {
    int fd = file_open(file, 0);
    if (fd < 0)
        return;
    fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)(file->bytes + bytes));
    close(fd);
}

void spex_trace_file_trim(const struct spex_trace_file *file) {
    int fd = file_open(file, 0);
    int err = fd < 0 ? -errno : ftruncate(fd, (off_t)file->bytes);
    (void)err; /* then it stays set aside */
    if (fd >= 0)
        close(fd);
}

/* Readers of traces take each file for a stream whose name does not begin with a dot. */
int spex_trace_file_replace(struct spex_trace_disk *disk, struct spex_trace_file *file,
                            const void *bytes, size_t size) {
    const char *slash = strrchr(file->path, '/');
    const char *name = slash ? slash + 1 : file->path;
    char *fresh;
    if (asprintf(&fresh, "%.*s.%s.new", (int)(name - file->path), file->path, name) < 0)
        return -ENOMEM;
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    int err = fd < 0 ? -errno : write_at(fd, bytes, size, 0);
    if (fd >= 0 && close(fd) != 0 && !err)
        err = -errno;
    if (!err && rename(fresh, file->path) != 0)
        err = -errno;
    if (err && fd >= 0)
        unlink(fresh);
    free(fresh);
    if (err)
        return err;
    disk->bytes += size - file->bytes;
    file->bytes = size;
    return 0;
}

void spex_trace_disk_make_room(struct spex_trace_disk *disk, uint64_t more) {
    size_t gone = 0;
    while (disk->keep && disk->bytes + more > disk->keep && gone < disk->left_count) {
        struct spex_trace_left *oldest = &disk->left[gone++];
        unlink(oldest->path);
        free(oldest->path);
        disk->bytes -= oldest->bytes;
        disk->removed += oldest->bytes;
    }
    if (!gone)
        return;
    disk->left_count -= gone;
    for (size_t f = 0; f < disk->left_count; f++)
        disk->left[f] = disk->left[f + gone];
}

/* Room for one more file that has been left. False: there is no memory. */
static bool left_grow(struct spex_trace_disk *disk) {
    if (disk->left_count < disk->left_room)
        return true;
    size_t room = disk->left_room ? 2 * disk->left_room : LEFT_FIRST;
    struct spex_trace_left *left = realloc(disk->left, room * sizeof(*left));
    if (!left)
        return false;
    disk->left = left;
    disk->left_room = room;
    return true;
}

/* Without memory the file stays, beyond the bound. */
void spex_trace_file_leave(struct spex_trace_disk *disk, struct spex_trace_file *file) {
    if (disk->keep && file->bytes && left_grow(disk))
        disk->left[disk->left_count++] = (struct spex_trace_left){file->path, file->bytes};
    else
        free(file->path);
    *file = (struct spex_trace_file){.bytes = 0};
}
