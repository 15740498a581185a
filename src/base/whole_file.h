/* SPDX-License-Identifier: MIT */
/* Files that appear under their name when they are whole: until then they are called NAME.part. */
#ifndef SPEX_BASE_WHOLE_FILE_H
#define SPEX_BASE_WHOLE_FILE_H

#include "text/error.h"

struct spex_whole_file {
    const char *path;
    char *part;
    int fd;
};

/* 0 or what went wrong. */
int spex_whole_file_begin(struct spex_whole_file *file, const char *path, struct spex_error *why);

/* Gives it its name, or, when something had gone wrong (`err`), removes it. What went wrong
 * first. */
int spex_whole_file_end(struct spex_whole_file *file, int err, struct spex_error *why);

#endif
