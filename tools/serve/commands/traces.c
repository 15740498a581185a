/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/serve/commands/traces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text/printable.h"

/* Files that are looked at for one list. */
enum { LOOKS_MAX = 5000 };

static bool is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* A name as it is, and not as it would be shown. */
static bool is_text(const char *name) {
    char shown[NAME_MAX + 1];
    strncpy(shown, name, sizeof(shown) - 1);
    shown[sizeof(shown) - 1] = '\0';
    spex_make_printable(shown);
    return strcmp(shown, name) == 0;
}

static bool has_metadata(int folder) {
    struct stat about;
    return fstatat(folder, "metadata", &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(about.st_mode);
}

/* A folder within another one; NULL: it is none. Closing it closes its descriptor. */
static DIR *open_folder(int within, const char *name) {
    int fd = openat(within, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !folder)
        close(fd);
    return folder;
}

/* What is found of a trace. */
struct found {
    bool is_trace;
    uint64_t bytes;
    int64_t modified;
    /* Files that may still be looked at. */
    unsigned left;
};

/* Looks at the files of a folder, and at those of the folders in it: of its processes, and of what
 * spex keeps beside them. */
static void look(DIR *folder, struct found *found, int depth) {
    const struct dirent *entry;
    struct stat about;
    if (has_metadata(dirfd(folder)))
        found->is_trace = true;
    while (found->left && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        found->left--;
        if (fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        DIR *inner =
            S_ISDIR(about.st_mode) && depth ? open_folder(dirfd(folder), entry->d_name) : NULL;
        if (inner) {
            look(inner, found, depth - 1);
            closedir(inner);
        } else if (S_ISREG(about.st_mode)) {
            found->bytes += (uint64_t)about.st_size;
            if (about.st_mtim.tv_sec > found->modified)
                found->modified = about.st_mtim.tv_sec;
        }
    }
}

static struct found look_at(int within, const char *name, int depth, unsigned left) {
    struct found found = {.left = left};
    DIR *folder = open_folder(within, name);
    if (folder) {
        look(folder, &found, depth);
        closedir(folder);
    }
    return found;
}

static int by_time(const void *a, const void *b) {
    const struct spex_trace_entry *one = a, *other = b;
    return (other->modified > one->modified) - (other->modified < one->modified);
}

/* Adds it if it is a trace. 0 or -ENOMEM. */
static int add(struct spex_trace_list *list, int folder, const char *name, unsigned *left) {
    struct found found = look_at(folder, name, strcmp(name, ".") == 0 ? 1 : 2, *left);
    *left = found.left;
    if (!found.is_trace)
        return 0;
    if (list->count == SPEX_TRACES_MAX || !is_text(name)) {
        list->left_out++;
        return 0;
    }
    void *grown = realloc(list->entries, (list->count + 1) * sizeof(*list->entries));
    if (!grown)
        return -ENOMEM;
    list->entries = grown;
    struct spex_trace_entry *entry = &list->entries[list->count++];
    *entry = (struct spex_trace_entry){.bytes = found.bytes, .modified = found.modified};
    memcpy(entry->name, name, strlen(name));
    return 0;
}

int spex_traces_list(int folder, struct spex_trace_list *list) {
    const struct dirent *entry;
    unsigned left = LOOKS_MAX;
    *list = (struct spex_trace_list){.count = 0};
    DIR *entries = open_folder(folder, ".");
    if (!entries)
        return -errno;
    int err = has_metadata(folder) ? add(list, folder, ".", &left) : 0;
    while (!err && left && (entry = readdir(entries))) {
        left--;
        if (is_visible(entry))
            err = add(list, folder, entry->d_name, &left);
    }
    closedir(entries);
    if (list->count)
        qsort(list->entries, list->count, sizeof(*list->entries), by_time);
    return err;
}

void spex_traces_free(struct spex_trace_list *list) {
    free(list->entries);
    *list = (struct spex_trace_list){.count = 0};
}

bool spex_traces_has(int folder, const char *name) {
    if (strlen(name) > NAME_MAX || strchr(name, '/') || !is_text(name))
        return false;
    if (strcmp(name, ".") == 0)
        return has_metadata(folder);
    return *name && *name != '.' && look_at(folder, name, 2, LOOKS_MAX).is_trace;
}
