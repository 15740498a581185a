/* SPDX-License-Identifier: MIT */
/* The files of traces, and a bound on the room that they take together. A file is opened for each
 * write and closed behind it, because a program may close descriptors that it does not know. */
#ifndef SPEX_TRACE_TRACE_DISK_H
#define SPEX_TRACE_TRACE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the traces of one directory share. */
struct spex_trace_disk {
    /* Most bytes of all files; 0: any number. */
    uint64_t keep;
    uint64_t bytes;
    /* Bytes of files that were removed. */
    uint64_t removed;
    /* Files of streams that have been left, oldest first: these are removed when what is written has
     * no room. */
    struct spex_trace_left {
        char *path;
        uint64_t bytes;
    } * left;
    size_t left_count;
    size_t left_room;
    /* Files of streams that are written to. */
    size_t current;
};

/* A file that grows. */
struct spex_trace_file {
    char *path; /* NULL: none */
    uint64_t bytes;
};

void spex_trace_disk_free(struct spex_trace_disk *disk);

/* Appends to a file, which is made at the first write. After an error the file is as it was. 0 or
 * a negative errno value. */
int spex_trace_file_append(struct spex_trace_disk *disk, struct spex_trace_file *file,
                           const void *bytes, size_t size);

/* Sets room aside for what is appended later, so that it is there when the disk is full; where the
 * file system can. Gives back what is left of it. */
void spex_trace_file_set_aside(const struct spex_trace_file *file, uint64_t bytes);
void spex_trace_file_trim(const struct spex_trace_file *file);

/* Replaces a small file as a whole: whoever opens it finds the old or the new contents. 0 or a
 * negative errno value. */
int spex_trace_file_replace(struct spex_trace_disk *disk, struct spex_trace_file *file,
                            const void *bytes, size_t size);

/* No more is written to the file: it may be removed. */
void spex_trace_file_leave(struct spex_trace_disk *disk, struct spex_trace_file *file);

#endif
