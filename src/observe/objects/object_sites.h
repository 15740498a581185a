/* SPDX-License-Identifier: MIT */
/* The probe sites of one ELF object, read from its file. */
#ifndef SPEX_OBSERVE_OBJECTS_OBJECT_SITES_H
#define SPEX_OBSERVE_OBJECTS_OBJECT_SITES_H

#include <stddef.h>
#include <stdint.h>

#include <spex/site.h>

#include "text/error.h"

/* More than a process has room for; an object with more than these is refused. */
enum { SPEX_OBJECT_SITES_MAX = 1 << 16, SPEX_OBJECT_NAMES_MAX = 1 << 16 };

struct spex_object_site {
    uint16_t probe_id;
    uint16_t probe_type; /* 0: the file has none that there is */
    uint16_t region;     /* that it stands in; 0: none */
    uint8_t detail;      /* as in struct spex_site */
    uint32_t subsample;
    uint32_t line;
    uint32_t copies;                /* so many sites say the same: inlined code, or a template's */
    char name[SPEX_NAME_BYTES + 1]; /* printable; empty: it has none */
    char *file;                     /* printable; "?" where the object does not tell */
    char *
        parameters; /* printable: of a KERNEL, "n, m"; NULL: it has none, or the object does not tell */
};

struct spex_object_sites {
    struct spex_object_site *items; /* those with a name first, by name; then by id, type, file and
                                       line */
    size_t count;
};

/* The sites of the object behind `fd`, which stays the caller's; `name` is for messages. An object
 * without probes has no sites. 0, or an error of spex_elf_file_open. */
int spex_object_sites_read(int fd, const char *name, struct spex_object_sites *sites,
                           struct spex_error *why);
void spex_object_sites_free(struct spex_object_sites *sites);

#endif
