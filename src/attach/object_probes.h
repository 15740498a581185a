/* SPDX-License-Identifier: MIT */
/* The USDT probes of an ELF object, by its notes (.note.stapsdt). The file may come from anyone: whatever
 * a note says is checked. */
#ifndef SPEX_ATTACH_OBJECT_PROBES_H
#define SPEX_ATTACH_OBJECT_PROBES_H

#include <stddef.h>
#include <stdint.h>

#include "attach/object_functions.h"
#include "text/error.h"

/* Sites of all probes of an object at most; more are left out. */
enum { SPEX_OBJECT_PROBE_SITES_MAX = 1 << 16 };

struct spex_object_probe_site {
    /* "PROVIDER:NAME". Printable. */
    char *name;
    /* As the object is linked, within its code. */
    uint64_t address;
    /* The place in the file of a counter of those who look at the probe, which has 2 bytes in the object's
     * data: the program skips what is done for the probe alone while it is 0. 0: there is none. */
    uint64_t semaphore;
};

struct spex_object_probes {
    /* By name and address: the sites of a probe are neighbours, no two at one address. */
    struct spex_object_probe_site *items;
    size_t count;
    /* Notes that say what cannot be. */
    size_t malformed;
};

/* Reads those of an object whose code was read. 0; -ENOMEM; or an error of spex_elf_file_open. To be freed
 * after 0. */
int spex_object_probes_read(int fd, const char *name, const struct spex_object_functions *object,
                            struct spex_object_probes *probes, struct spex_error *error);
void spex_object_probes_free(struct spex_object_probes *probes);

#endif
