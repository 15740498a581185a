/* SPDX-License-Identifier: MIT */
/* Files that are read or written as a whole. Where the file is a pipe, its other end is waited for,
 * but for 10 s at most each time, and no longer when SIGINT, SIGTERM or SIGHUP is pending: commands
 * block these. */
#ifndef SPEX_BASE_WHOLE_FILE_H
#define SPEX_BASE_WHOLE_FILE_H

#include <stddef.h>

#include "text/error.h"

/* What is read: a command waits for who writes into a pipe, a program does not. */
enum spex_file_kind { SPEX_FILE_ANY, SPEX_FILE_REGULAR };

/* Reads a file of at most `most` bytes, a multiple of 1 MiB, and puts a 0 behind them. `path` NULL:
 * standard input. `*text` is to be freed. Returns 0; -EFBIG: the file has more bytes, or no end, as
 * /dev/zero; -EINVAL: it is of another kind; or another negative errno value, with a line in
 * `error`. */
int spex_whole_file_read(const char *path, enum spex_file_kind kind, size_t most, char **text,
                         size_t *length, struct spex_error *error);

/* Writes a file. Whoever opens a regular file finds the old contents or all of the new ones, which
 * keep the mode of the old; after an error there are the old ones. Two processes may write one
 * file: that of the later one stays. What is no regular file (a device, a pipe) is written to.
 * Links at the end of the path are followed as the kernel does with fs.protected_symlinks: not
 * another user's in a directory such as /tmp. Returns 0, or a negative errno value with a line in
 * `error`. */
int spex_whole_file_write(const char *path, const void *bytes, size_t size,
                          struct spex_error *error);

/* Whether spex_whole_file_write can be expected to succeed; leaves the file as it is. 0 or a
 * negative errno value. */
int spex_whole_file_check(const char *path);

/* The regular file that a path names or is to name, which may be replaced: links are followed as by
 * spex_whole_file_write. `*target` is to be freed. 0; -EISDIR; -EINVAL: it is of another kind; or
 * another negative errno value. */
int spex_whole_file_target(const char *path, char **target);

/* Opens a new file for writing that is to replace `target`, beside it, of the same mode. The
 * caller renames or removes it. `*name` is to be freed. A descriptor, or a negative errno value and
 * NULL. */
int spex_whole_file_open_beside(const char *target, char **name);

/* Opens a file for lines that are written as they come, empty. Links are followed as by
 * spex_whole_file_write, and another user's file or pipe in a directory such as /tmp is -EACCES. A
 * descriptor or a negative errno value. */
int spex_line_file_open(const char *path);

#endif
