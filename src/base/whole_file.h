/* SPDX-License-Identifier: MIT */
/* Files that appear under their name only when they are complete. While one is written, it is
 * called NAME.part. */
#ifndef SPEX_BASE_WHOLE_FILE_H
#define SPEX_BASE_WHOLE_FILE_H

#include "text/error.h"

struct spex_whole_file {
    /* The final name; belongs to the caller. */
    const char *path;
    /* The file's name while it is written; allocated. */
    char *part;
    /* The file's descriptor, open for writing. */
    int fd;
};

/* Opens the file for writing. Returns 0; or a negative errno value with a line in `error`, after
 * which spex_whole_file_end must not be called. */
int spex_whole_file_begin(struct spex_whole_file *file, const char *path, struct spex_error *error);

/* Closes the file. Renames it, or removes it when writing has failed with `err` or closing
 * fails. Returns the first error, which is `err` if that is not 0. Writes a line to `error` only
 * for a failure of closing or renaming. */
int spex_whole_file_end(struct spex_whole_file *file, int err, struct spex_error *error);

#endif
