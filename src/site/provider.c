/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "site/provider.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/loaded_object.h"

/* Returns the length of the name without ".so" and what follows it, as in "libz.so.1.2.13", and
 * without what /proc appends to the path of a file that is gone. */
static size_t name_length(const char *name) {
    static const char gone[] = " (deleted)";
    const char *end = name;
    size_t length = strlen(name);
    while ((end = strstr(end, ".so"))) {
        end += strlen(".so");
        if (*end == '\0' || *end == '.')
            return (size_t)(end - name) - strlen(".so");
    }
    if (length > strlen(gone) && strcmp(name + length - strlen(gone), gone) == 0)
        length -= strlen(gone);
    return length;
}

void spex_provider_of_path(const char *path, char *name) {
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t length = name_length(base);
    snprintf(name, SPEX_NAME_BYTES, "%.*s", (int)(length ? length : strlen(base)), base);
}

/* The object that contains `address`. */
struct search {
    uintptr_t address;
    bool program; /* the next object is the program, which comes first */
    char *path;   /* of PATH_MAX bytes; empty: not found, or the program; NULL: not wanted */
};

static int object_compare(struct dl_phdr_info *info, size_t size, void *user) {
    struct search *search = user;
    (void)size;
    if (!spex_object_contains(info, search->address)) {
        search->program = false;
        return 0;
    }
    if (!search->program && search->path && info->dlpi_name)
        snprintf(search->path, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

/* The program's own file: what it is called by may be anything. */
static void program_path(char *path) {
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length > 0)
        path[length] = '\0';
    else
        snprintf(path, PATH_MAX, "%s", program_invocation_short_name);
}

void spex_object_path(const void *address, char *path) {
    struct search search = {.address = (uintptr_t)address, .program = true, .path = path};
    path[0] = '\0';
    dl_iterate_phdr(object_compare, &search);
    if (!path[0])
        program_path(path);
}

bool spex_is_of_program(const void *address) {
    struct search search = {.address = (uintptr_t)address, .program = true};
    return dl_iterate_phdr(object_compare, &search) == 1 && search.program;
}

/* Addresses of which an object is to contain both. */
struct pair {
    uintptr_t one, other;
};

static int object_has_pair(struct dl_phdr_info *info, size_t size, void *user) {
    const struct pair *pair = user;
    (void)size;
    return spex_object_contains(info, pair->one) && spex_object_contains(info, pair->other);
}

bool spex_is_of_one_object(const void *one, const void *other) {
    struct pair pair = {(uintptr_t)one, (uintptr_t)other};
    return dl_iterate_phdr(object_has_pair, &pair) != 0;
}

const char *spex_probe_called(const char *provider, const char *name, int32_t id, char *text,
                              size_t size) {
    char number[12];
    snprintf(number, sizeof(number), "%d", (int)id);
    bool prefix = provider && *provider;
    snprintf(text, size, "%s%s%s", prefix ? provider : "", prefix ? "/" : "",
             name && *name ? name : number);
    return text;
}

const char *spex_probe_selector(const char *provider, const char *name, int32_t id, char *text,
                                size_t size) {
    spex_probe_called(provider, id < 0 ? name : NULL, id, text, size);
    for (char *at = text; (at = strpbrk(at, ",:@*[\\ +"));)
        *at = '?';
    return text;
}
