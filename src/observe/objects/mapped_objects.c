/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID/maps (proc(5)), and opens each mapped file. A path may lead to another file
 * by now, so that a file that was opened is mapped here, and its device and inode are compared
 * as /proc/self/maps shows them. */
#define _GNU_SOURCE
#include "observe/objects/mapped_objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "observe/objects/elf_file.h"

/* Device and inode of a mapped file, as /proc/PID/maps has them. stat may give other numbers:
 * overlayfs and btrfs have two sets. */
struct identity {
    unsigned device_major, device_minor;
    unsigned long inode;
};

/* A line of /proc/PID/maps. */
struct mapping {
    unsigned long start, end, offset;
    bool executable;
    struct identity identity;
    /* The path, within the line. */
    char *path;
};

/* The visit of one process; `known` are the files that were seen before. */
struct visit {
    pid_t pid;
    spex_mapped_object_seen seen;
    void *user;
    struct identity *known;
    size_t known_count;
};

static bool identity_equal(const struct identity *a, const struct identity *b) {
    return a->device_major == b->device_major && a->device_minor == b->device_minor &&
           a->inode == b->inode;
}

/* The kernel writes a line feed in a path as \012, and escapes no other character. */
static void restore_line_feeds(char *path) {
    for (char *at = path; (at = strstr(at, "\\012")); at++) {
        *at = '\n';
        memmove(at + 1, at + 4, strlen(at + 4) + 1);
    }
}

/* Parses a line of /proc/PID/maps, and changes it. False when it has another form. */
static bool parse_mapping(char *line, struct mapping *mapping) {
    char rights[5] = "";
    int path = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", /* NOLINT(cert-err34-c): the kernel's */
               &mapping->start, &mapping->end, rights, &mapping->offset,
               &mapping->identity.device_major, &mapping->identity.device_minor,
               &mapping->identity.inode, &path) != 7 ||
        path == 0)
        return false;
    mapping->executable = strchr(rights, 'x') != NULL;
    mapping->path = line + path;
    restore_line_feeds(mapping->path);
    return true;
}

/* Maps a page of the file, and reads its identity from /proc/self/maps. The kernel may show
 * adjacent mappings of a file as one. */
static bool file_identify(int fd, struct identity *identity) {
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
    FILE *maps = page == MAP_FAILED ? NULL : fopen("/proc/self/maps", "re");
    while (maps && !found && getline(&line, &room, maps) > 0) {
        struct mapping mapping;
        found = parse_mapping(line, &mapping) && mapping.start <= (uintptr_t)page &&
                (uintptr_t)page < mapping.end;
        if (found)
            *identity = mapping.identity;
    }
    free(line);
    if (maps)
        fclose(maps);
    if (page != MAP_FAILED)
        munmap(page, 1);
    return found;
}

/* A descriptor of the file at `path` if that is the mapped file; else -1. */
static int open_if_same(const char *path, const struct identity *wanted) {
    struct spex_error unused;
    struct identity identity;
    int fd = spex_regular_file_open(path, &unused);
    if (fd < 0)
        return -1;
    if (file_identify(fd, &identity) && identity_equal(&identity, wanted))
        return fd;
    close(fd);
    return -1;
}

/* Opens the mapped file: by its mapping in map_files, which needs privileges; by its path below
 * the root directory of the process; or as the program that the process runs. -1: none of them
 * is the file. */
static int mapping_open(pid_t pid, const struct mapping *mapping) {
    char link[64], *path = NULL;
    snprintf(link, sizeof(link), "/proc/%d/map_files/%lx-%lx", (int)pid, mapping->start,
             mapping->end);
    int fd = open_if_same(link, &mapping->identity);
    if (fd < 0 && asprintf(&path, "/proc/%d/root%s", (int)pid, mapping->path) >= 0) {
        fd = open_if_same(path, &mapping->identity);
        free(path);
    }
    if (fd < 0) {
        snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
        fd = open_if_same(link, &mapping->identity);
    }
    return fd;
}

/* True when the file was not seen before. False also when memory is short. */
static bool visit_remember(struct visit *visit, const struct identity *identity) {
    for (size_t k = 0; k < visit->known_count; k++)
        if (identity_equal(&visit->known[k], identity))
            return false;
    struct identity *known =
        realloc(visit->known, (visit->known_count + 1) * sizeof(*visit->known));
    if (!known)
        return false;
    visit->known = known;
    known[visit->known_count++] = *identity;
    return true;
}

/* The kernel appends " (deleted)" to the path of a file that was removed. */
static void text_drop_suffix(char *path, const char *suffix) {
    size_t length = strlen(path), tail = strlen(suffix);
    if (length > tail && strcmp(path + length - tail, suffix) == 0)
        path[length - tail] = '\0';
}

/* Only executable mappings of files count: a file is mapped several times, and once with its
 * code. */
static void visit_mapping(struct visit *visit, struct mapping *mapping) {
    struct spex_error error = {""};
    if (!mapping->executable || mapping->identity.inode == 0 || *mapping->path != '/' ||
        !visit_remember(visit, &mapping->identity))
        return;
    int fd = mapping_open(visit->pid, mapping);
    text_drop_suffix(mapping->path, " (deleted)");
    if (fd < 0)
        spex_error_set(&error, "%s was replaced since it was loaded, or cannot be read",
                       mapping->path);
    visit->seen(visit->user, mapping->path, fd, error.text);
    if (fd >= 0)
        close(fd);
}

/* Sets the message for an error of /proc. Returns a negative errno value. */
static int visit_fail(pid_t pid, int err, struct spex_error *error) {
    if (err == EACCES || err == EPERM)
        return spex_fail(error, -EACCES,
                         "process %d belongs to someone else, or may not be looked at", (int)pid);
    if (err == ENOENT || err == ESRCH)
        return spex_fail(error, -ESRCH, "there is no process %d", (int)pid);
    return spex_fail(error, -err, "process %d cannot be looked at: %s", (int)pid, strerror(err));
}

/* getline leaves errno at 0 at the end of the file; a kernel thread and a process that has
 * ended have an empty file. */
int spex_mapped_objects_visit(pid_t pid, spex_mapped_object_seen seen, void *user,
                              struct spex_error *error) {
    struct visit visit = {.pid = pid, .seen = seen, .user = user};
    char name[64], *line = NULL;
    size_t room = 0, lines = 0;
    snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(name, "re");
    if (!maps)
        return visit_fail(pid, errno, error);
    errno = 0;
    for (; getline(&line, &room, maps) > 0; lines++) {
        struct mapping mapping;
        if (parse_mapping(line, &mapping))
            visit_mapping(&visit, &mapping);
        errno = 0;
    }
    int err = ferror(maps) ? errno : 0;
    free(line);
    free(visit.known);
    fclose(maps);
    if (err)
        return visit_fail(pid, err, error);
    if (lines == 0)
        return spex_fail(error, -ENOENT,
                         "process %d has no memory: it has ended, or is the kernel's", (int)pid);
    return 0;
}

int spex_mapped_object_address(pid_t pid, int fd, uint64_t offset, uint64_t *address) {
    char name[64], *line = NULL;
    struct identity identity;
    size_t room = 0;
    bool found = false;
    snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
    FILE *maps = file_identify(fd, &identity) ? fopen(name, "re") : NULL;
    while (maps && !found && getline(&line, &room, maps) > 0) {
        struct mapping mapping;
        found = parse_mapping(line, &mapping) && mapping.executable &&
                identity_equal(&mapping.identity, &identity) &&
                offset - mapping.offset < mapping.end - mapping.start;
        if (found)
            *address = mapping.start + (offset - mapping.offset);
    }
    free(line);
    if (maps)
        fclose(maps);
    return found ? 0 : -ENOENT;
}
