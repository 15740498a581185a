/* SPDX-License-Identifier: MIT */
/* The probe sites of one ELF object, read from its file. */
#ifndef SPEX_OBSERVE_OBJECTS_OBJECT_SITES_H
#define SPEX_OBSERVE_OBJECTS_OBJECT_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/site.h>

#include "text/error.h"

/* Limits above what a process has room for. An object with more is refused. */
enum {
    SPEX_OBJECT_SITES_MAX = 1 << 16,
    SPEX_OBJECT_NAMES_MAX = 1 << 16,
    SPEX_OBJECT_NOTES_MAX = 64
};

struct spex_object_site {
    uint16_t probe_id;
    /* The probe has no id, but a name in its place. */
    bool named;
    /* 0: the type in the file is unknown. */
    uint16_t probe_type;
    /* The region around the site; 0: none. */
    uint16_t region;
    /* The counter or the number of values, as in struct spex_site. */
    uint8_t detail;
    uint32_t subsample;
    uint32_t line;
    /* How many sites say the same: copies of inlined code or of a template. */
    uint32_t copies;
    /* Printable; empty: the probe has none. */
    char name[SPEX_NAME_BYTES + 1];
    /* Printable; "?": unknown. */
    char *file;
    /* The parameters of a KERNEL, printable, such as "n, m"; NULL: none or unknown. */
    char *parameters;
};

/* The id; -1: none. */
static inline int32_t spex_object_site_id(const struct spex_object_site *site) {
    return site->named ? -1 : site->probe_id;
}

struct spex_object_sites {
    /* Sorted: sites with a name first, by name; then by id, type, file and line. */
    struct spex_object_site *items;
    size_t count;
    /* Printable. */
    char provider[SPEX_NAME_BYTES];
    /* The library's code for instrumented functions is linked into the object. */
    bool functions;
};

/* Reads the sites of the object behind `fd`, which stays the caller's; `name`, its path, is for
 * messages, and for the provider of an object that declares none.
 * An object without probes has no sites. 0, or an error of spex_elf_file_open. */
int spex_object_sites_read(int fd, const char *name, struct spex_object_sites *sites,
                           struct spex_error *error);
void spex_object_sites_free(struct spex_object_sites *sites);

#endif
