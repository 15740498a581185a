/* SPDX-License-Identifier: MIT */
/* The folder of a process's trace: its metadata, its journal, and the names of its streams'
 * files. */
#ifndef SPEX_TRACE_READ_FOLDER_H
#define SPEX_TRACE_READ_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/error.h"
#include "trace/trace_format.h"

struct spex_recording_folder {
    uint8_t uuid[SPEX_TRACE_UUID_BYTES];
    /* Ticks a second, as the metadata has them; 0: not known. */
    double frequency;
    /* Paths of the streams, in the order of their names. */
    char **files;
    size_t file_count;
};

/* "FOLDER/NAME", to be freed; NULL: no memory. */
char *spex_recording_path(const char *folder, const char *name);

/* Whether the folder has metadata, so that it is a trace. */
bool spex_recording_folder_is(const char *path);

/* 0 or a negative errno value with the reason. Free it in any case. */
int spex_recording_folder_read(const char *path, struct spex_recording_folder *folder,
                               struct spex_error *error);
void spex_recording_folder_free(struct spex_recording_folder *folder);

/* The names of the folders within `path` that are traces, sorted; to be freed one by one. 0 or a
 * negative errno value with the reason. */
int spex_recording_folders(const char *path, char ***names, size_t *count,
                           struct spex_error *error);

#endif
