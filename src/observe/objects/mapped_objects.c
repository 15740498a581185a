/* SPDX-License-Identifier: MIT */
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

/* What the kernel tells of a mapped file. These numbers are not always those of stat: some file systems
 * (overlayfs, btrfs) have two sets of them. */
struct identity {
    unsigned device_major, device_minor;
    unsigned long inode;
};

struct mapping {
    unsigned long start, end;
    bool executable;
    struct identity identity;
    char *path; /* within the line */
};

struct visit {
    pid_t pid;
    spex_mapped_object_seen seen;
    void *user;
    struct identity *known;
    size_t known_count;
};

static bool same_identity(const struct identity *a, const struct identity *b) {
    return a->device_major == b->device_major && a->device_minor == b->device_minor &&
           a->inode == b->inode;
}

/* Line feeds in a path are written in octal, and nothing else is. */
static void restore_line_feeds(char *path) {
    for (char *at = path; (at = strstr(at, "\\012")); at++) {
        *at = '\n';
        memmove(at + 1, at + 4, strlen(at + 4) + 1);
    }
}

/* A line of /proc/PID/maps: proc(5). */
static bool parse_mapping(char *line, struct mapping *mapping) {
    char rights[5] = "";
    int path = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%lx-%lx %4s %*x %x:%x %lu %n", /* NOLINT(cert-err34-c): the kernel's */
               &mapping->start, &mapping->end, rights, &mapping->identity.device_major,
               &mapping->identity.device_minor, &mapping->identity.inode, &path) != 6 ||
        path == 0)
        return false;
    mapping->executable = strchr(rights, 'x') != NULL;
    mapping->path = line + path;
    restore_line_feeds(mapping->path);
    return true;
}

/* What a mapping of our own shows the file to be. */
static bool identify(int fd, struct identity *identity) {
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
    FILE *maps = page == MAP_FAILED ? NULL : fopen("/proc/self/maps", "re");
    while (maps && !found && getline(&line, &room, maps) > 0) {
        struct mapping mapping;
        /* Neighbours of the same file may be shown as one. */
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

/* A descriptor of what `path` leads to if that is the mapped file; else -1. */
static int open_if_same(const char *path, const struct identity *wanted) {
    struct spex_error unused;
    struct identity identity;
    int fd = spex_regular_file_open(path, &unused);
    if (fd < 0)
        return -1;
    if (identify(fd, &identity) && same_identity(&identity, wanted))
        return fd;
    close(fd);
    return -1;
}

/* By the mapping itself, which takes privileges; by its path in the process's own file system; or as
 * the program that it runs. */
static int open_mapped(pid_t pid, const struct mapping *mapping) {
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

/* True the first time. */
static bool remember(struct visit *visit, const struct identity *identity) {
    for (size_t k = 0; k < visit->known_count; k++)
        if (same_identity(&visit->known[k], identity))
            return false;
    struct identity *known =
        realloc(visit->known, (visit->known_count + 1) * sizeof(*visit->known));
    if (!known)
        return false;
    visit->known = known;
    known[visit->known_count++] = *identity;
    return true;
}

static void drop_suffix(char *path, const char *suffix) {
    size_t length = strlen(path), tail = strlen(suffix);
    if (length > tail && strcmp(path + length - tail, suffix) == 0)
        path[length - tail] = '\0';
}

static void visit_mapping(struct visit *visit, struct mapping *mapping) {
    struct spex_error why = {""};
    if (!mapping->executable || mapping->identity.inode == 0 || *mapping->path != '/' ||
        !remember(visit, &mapping->identity))
        return;
    int fd = open_mapped(visit->pid, mapping);
    drop_suffix(mapping->path, " (deleted)");
    if (fd < 0)
        spex_error_set(&why, "%s was replaced since it was loaded, or cannot be read",
                       mapping->path);
    visit->seen(visit->user, mapping->path, fd, why.text);
    if (fd >= 0)
        close(fd);
}

static int fail(pid_t pid, int err, struct spex_error *why) {
    if (err == EACCES || err == EPERM)
        return spex_fail(why, -EACCES,
                         "process %d belongs to someone else, or may not be looked at", (int)pid);
    if (err == ENOENT || err == ESRCH)
        return spex_fail(why, -ESRCH, "there is no process %d", (int)pid);
    return spex_fail(why, -err, "process %d cannot be looked at: %s", (int)pid, strerror(err));
}

int spex_mapped_objects_visit(pid_t pid, spex_mapped_object_seen seen, void *user,
                              struct spex_error *why) {
    struct visit visit = {.pid = pid, .seen = seen, .user = user};
    char name[64], *line = NULL;
    size_t room = 0, lines = 0;
    snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(name, "re");
    if (!maps)
        return fail(pid, errno, why);
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
        return fail(pid, err, why);
    if (lines == 0)
        return spex_fail(why, -ENOENT, "process %d has no memory: it has ended, or is the kernel's",
                         (int)pid);
    return 0;
}
