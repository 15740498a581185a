/* SPDX-License-Identifier: MIT */
/* Writes files to NAME.part and renames them, so that readers see the old file or the whole new
 * one. */
#define _GNU_SOURCE
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int spex_whole_file_begin(struct spex_whole_file *file, const char *path,
                          struct spex_error *error) {
    *file = (struct spex_whole_file){.path = path, .fd = -1};
    if (asprintf(&file->part, "%s.part", path) < 0) {
        file->part = NULL;
        return spex_fail(error, -ENOMEM, "out of memory");
    }
    file->fd = open(file->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file->fd >= 0)
        return 0;
    int err = spex_fail(error, -errno, "cannot write %s: %s", file->part, strerror(errno));
    free(file->part);
    return err;
}

int spex_whole_file_end(struct spex_whole_file *file, int err, struct spex_error *error) {
    if (close(file->fd) != 0 && !err)
        err = spex_fail(error, -errno, "cannot write %s: %s", file->part, strerror(errno));
    if (!err && rename(file->part, file->path) != 0)
        err = spex_fail(error, -errno, "cannot write %s: %s", file->path, strerror(errno));
    if (err)
        unlink(file->part);
    free(file->part);
    return err;
}
