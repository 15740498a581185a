/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "trace/read/folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/whole_file.h"

/* METADATA_BYTES: many times what a program with all probes has. */
enum { METADATA_BYTES = 64 << 20, FILES_MAX = 1 << 20 };

char *spex_recording_path(const char *folder, const char *name) {
    char *path;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

bool spex_recording_folder_is(const char *path) {
    char metadata[PATH_MAX];
    return (size_t)snprintf(metadata, sizeof(metadata), "%s/metadata", path) < sizeof(metadata) &&
           access(metadata, F_OK) == 0;
}

/* Reads 32 hexadecimal digits with "-" between them. */
static bool uuid_parse(const char *text, uint8_t uuid[SPEX_TRACE_UUID_BYTES]) {
    unsigned digits = 0;
    for (; *text && digits < 2 * SPEX_TRACE_UUID_BYTES; text++) {
        const char *hex = "0123456789abcdef", *digit = strchr(hex, *text | 0x20);
        if (*text == '-')
            continue;
        if (!digit)
            return false;
        unsigned value = (unsigned)(digit - hex);
        uuid[digits / 2] = (uint8_t)(digits % 2 ? uuid[digits / 2] << 4 | value : value);
        digits++;
    }
    return digits == 2 * SPEX_TRACE_UUID_BYTES;
}

/* Of the metadata only the uuid and the clock's frequency are used: the journal has the rest. */
static int metadata_parse(const char *path, const char *text, struct spex_recording_folder *folder,
                          struct spex_error *error) {
    const char *uuid = strstr(text, "uuid = \""), *frequency = strstr(text, "freq = ");
    if (strncmp(text, "/* CTF 1.8", 10) != 0)
        return spex_fail(error, -EINVAL, "%s: \"/* CTF 1.8 */\" was expected at its beginning",
                         path);
    if (!uuid || !uuid_parse(uuid + strlen("uuid = \""), folder->uuid))
        return spex_fail(error, -EINVAL, "%s: it tells no uuid", path);
    if (frequency)
        folder->frequency = strtod(frequency + strlen("freq = "), NULL);
    if (!(folder->frequency > 0) || !isfinite(folder->frequency))
        folder->frequency = 0;
    return 0;
}

static int metadata_read(const char *path, struct spex_recording_folder *folder,
                         struct spex_error *error) {
    char *metadata = spex_recording_path(path, "metadata"), *text = NULL;
    size_t length;
    if (!metadata)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err =
        spex_whole_file_read(metadata, SPEX_FILE_REGULAR, METADATA_BYTES, &text, &length, error);
    if (!err)
        err = metadata_parse(metadata, text, folder, error);
    free(text);
    free(metadata);
    return err;
}

static int is_stream(const struct dirent *entry) {
    return strncmp(entry->d_name, "cpu_", 4) == 0 || strncmp(entry->d_name, "late_", 5) == 0;
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* Frees what scandir gave, but for the list of names that is made of it. */
static int names_take(struct dirent **entries, int count, char **names) {
    int err = names ? 0 : -ENOMEM;
    for (int e = 0; e < count; e++) {
        if (!err && !(names[e] = strdup(entries[e]->d_name)))
            err = -ENOMEM;
        free(entries[e]);
    }
    free(entries);
    return err;
}

/* The sorted names in a folder. Free them in any case. */
static int names_of(const char *path, int (*filter)(const struct dirent *), char ***names,
                    size_t *count, struct spex_error *error) {
    struct dirent **entries;
    int found = scandir(path, &entries, filter, versionsort);
    *names = NULL;
    *count = 0;
    if (found < 0)
        return spex_fail(error, -errno, "%s: %s", path, strerror(errno));
    *names = calloc((size_t)found + 1, sizeof(**names));
    int err = names_take(entries, found, *names);
    *count = *names ? (size_t)found : 0;
    if (!err && found > FILES_MAX)
        return spex_fail(error, -E2BIG, "%s has more than %d files", path, FILES_MAX);
    return err ? spex_fail(error, err, "out of memory") : 0;
}

int spex_recording_folder_read(const char *path, struct spex_recording_folder *folder,
                               struct spex_error *error) {
    *folder = (struct spex_recording_folder){0};
    int err = metadata_read(path, folder, error);
    if (!err)
        err = names_of(path, is_stream, &folder->files, &folder->file_count, error);
    for (size_t f = 0; !err && f < folder->file_count; f++) {
        char *name = folder->files[f];
        folder->files[f] = spex_recording_path(path, name);
        free(name);
        if (!folder->files[f])
            err = spex_fail(error, -ENOMEM, "out of memory");
    }
    return err;
}

void spex_recording_folder_free(struct spex_recording_folder *folder) {
    for (size_t f = 0; f < folder->file_count; f++)
        free(folder->files[f]);
    free(folder->files);
    *folder = (struct spex_recording_folder){0};
}

int spex_recording_folders(const char *path, char ***names, size_t *count,
                           struct spex_error *error) {
    size_t all, kept = 0;
    int err = names_of(path, is_visible, names, &all, error);
    for (size_t n = 0; n < all; n++) {
        char *name = (*names)[n], *inner = name ? spex_recording_path(path, name) : NULL;
        if (inner && spex_recording_folder_is(inner))
            (*names)[kept++] = name;
        else
            free(name);
        free(inner);
    }
    *count = kept;
    return err;
}
