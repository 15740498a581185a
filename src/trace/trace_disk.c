/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "trace/trace_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory/memory.h"
#include "text/write_signals.h"

enum { FILE_MODE = 0666, LEFT_FIRST = 64 };

/* How often a file is opened for one write. */
enum { TRIES_MAX = 16 };

void spex_trace_disk_free(struct spex_trace_disk *disk) {
    for (size_t f = 0; f < disk->left_count; f++)
        spex_free(disk->left[f].path);
    spex_free(disk->left);
    disk->left = NULL;
    disk->left_count = disk->left_room = 0;
}

static int write_rest(const struct spex_descriptor *to, const char *bytes, size_t size,
                      uint64_t at) {
    while (size) {
        if (!spex_descriptor_is_ours(to))
            return -EBADF;
        ssize_t written = pwrite(to->number, bytes, size, (off_t)at);
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

/* Writes all of it, at `at`, and closes the file. 0 or a negative errno value. */
static int write_and_close(struct spex_descriptor *to, const char *bytes, size_t size,
                           uint64_t at) {
    struct spex_write_signals signals;
    spex_write_signals_hold(&signals);
    int err = write_rest(to, bytes, size, at);
    spex_write_signals_release(&signals);
    int closing = spex_descriptor_close(to);
    return err ? err : closing;
}

/* Opens the file; the path proves that the descriptor is of this file and none of the program's.
 * 0 or a negative errno value. */
static int file_open(const char *path, int flags, struct spex_descriptor *file) {
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, FILE_MODE);
    *file = SPEX_NO_DESCRIPTOR;
    if (fd < 0)
        return -errno;
    *file = spex_descriptor_brief(fd);
    return spex_descriptor_is_at(file, AT_FDCWD, path, false) ? 0 : -EBADF;
}

/* Opens the file and writes to it: again where the program has closed it meanwhile, as it may do
 * with all descriptors that it does not know. *made: whether the file was opened. */
static int file_write(const char *path, int flags, const void *bytes, size_t size, uint64_t at,
                      bool *made) {
    int err = -EBADF;
    *made = false;
    for (int tries = 0; err == -EBADF && tries < TRIES_MAX; tries++) {
        struct spex_descriptor file;
        err = file_open(path, *made ? flags & ~O_EXCL : flags, &file);
        *made |= !err || err == -EBADF;
        err = err ? err : write_and_close(&file, bytes, size, at);
    }
    return err;
}

/* Removes files that have been left, the oldest first, until `more` bytes have room. */
static void make_room(struct spex_trace_disk *disk, uint64_t more) {
    size_t gone = 0;
    while (disk->keep && disk->bytes + more > disk->keep && gone < disk->left_count) {
        struct spex_trace_left *oldest = &disk->left[gone++];
        unlink(oldest->path);
        spex_free(oldest->path);
        disk->bytes -= oldest->bytes;
        disk->removed += oldest->bytes;
    }
    if (!gone)
        return;
    disk->left_count -= gone;
    for (size_t f = 0; f < disk->left_count; f++)
        disk->left[f] = disk->left[f + gone];
}

/* What an earlier process of the same number has left is not written over. After an error the size
 * is set by the path: no descriptor is needed. */
int spex_trace_file_append(struct spex_trace_disk *disk, struct spex_trace_file *file,
                           const void *bytes, size_t size) {
    bool made;
    int flags = file->bytes ? 0 : O_CREAT | O_EXCL;
    make_room(disk, size);
    int err = file_write(file->path, flags, bytes, size, file->bytes, &made);
    if (err && made && truncate(file->path, (off_t)file->bytes) == 0 && !file->bytes)
        unlink(file->path);
    if (err)
        return err;
    file->bytes += size;
    disk->bytes += size;
    return 0;
}

void spex_trace_file_set_aside(const struct spex_trace_file *file, uint64_t bytes) {
    struct spex_descriptor opened;
    if (file_open(file->path, 0, &opened) != 0)
        return;
    fallocate(opened.number, FALLOC_FL_KEEP_SIZE, 0, (off_t)(file->bytes + bytes));
    spex_descriptor_close(&opened);
}

void spex_trace_file_trim(const struct spex_trace_file *file) {
    int err = truncate(file->path, (off_t)file->bytes);
    (void)err; /* then it stays set aside */
}

/* Readers of traces take each file for a stream whose name does not begin with a dot. */
int spex_trace_file_replace(struct spex_trace_disk *disk, struct spex_trace_file *file,
                            const void *bytes, size_t size) {
    const char *slash = strrchr(file->path, '/');
    const char *name = slash ? slash + 1 : file->path;
    char *fresh;
    bool made;
    if (spex_asprintf(&fresh, "%.*s.%s.new", (int)(name - file->path), file->path, name) < 0)
        return -ENOMEM;
    if (size > file->bytes)
        make_room(disk, size - file->bytes);
    int err = file_write(fresh, O_CREAT | O_TRUNC, bytes, size, 0, &made);
    if (!err && rename(fresh, file->path) != 0)
        err = -errno;
    if (err && made)
        unlink(fresh);
    spex_free(fresh);
    if (err)
        return err;
    disk->bytes += size - file->bytes;
    file->bytes = size;
    return 0;
}

/* Room for one more file that has been left. False: there is no memory. */
static bool left_grow(struct spex_trace_disk *disk) {
    if (disk->left_count < disk->left_room)
        return true;
    size_t room = disk->left_room ? 2 * disk->left_room : LEFT_FIRST;
    struct spex_trace_left *left = spex_realloc(disk->left, room * sizeof(*left));
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
        spex_free(file->path);
    *file = (struct spex_trace_file){.bytes = 0};
}
