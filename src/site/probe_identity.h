/* SPDX-License-Identifier: MIT */
/* What the probe of a site is called: its provider, its id and its name, from the module's entries
 * in the section `spex_names`. */
#ifndef SPEX_SITE_PROBE_IDENTITY_H
#define SPEX_SITE_PROBE_IDENTITY_H

#include <limits.h>
#include <stdint.h>

#include <spex/site.h>

struct spex_probe_identity {
    const char *provider;
    /* NULL: none. */
    const char *name;
    /* -1: none. */
    int32_t id;
};

/* Returns the name of the site's source file. The site holds the distance to the name, so that it
 * needs no relocation. */
static inline const char *spex_site_file(const struct spex_site *site) {
    return (const char *)&site->file_offset + site->file_offset;
}

/* What says whose a module's probes are: what it declares, or else its file. */
struct spex_module_origin {
    /* NULL: none. */
    const char *declared;
    /* Without `declared`. */
    char path[PATH_MAX];
};

/* Sets the origin of a module. Of several declarations the first one counts. To be called without
 * the registry's lock. */
void spex_module_find_origin(const struct spex_site *sites, const struct spex_probe_name *names,
                             const struct spex_probe_name *names_end,
                             struct spex_module_origin *origin);

/* Returns the registry's copy of the provider; NULL without memory. Files of one name in several
 * folders are "plug", "plug.2", … in the order in which they are loaded: nobody said that their
 * probes belong together. The registry's lock is held. */
const char *spex_provider_keep(const struct spex_module_origin *origin);

/* Notes ids to which the module gives two names. The registry's lock is held. */
void spex_names_check(const struct spex_probe_name *names, const struct spex_probe_name *names_end,
                      const char *provider);

/* Notes that an id has two names, of which the first one is used. The registry's lock is held. */
void spex_names_differ(const char *provider, int32_t id, const char *first, const char *other);

/* Writes a message about what has been noted, once probes are on: whoever runs the program without
 * probes need not know. To be called without the registry's lock, since writing may block. */
void spex_names_tell(void);

/* Returns the identity of the site's probe. `name` is room for a name that the site itself has. */
struct spex_probe_identity spex_site_identify(const struct spex_site *site,
                                              const struct spex_probe_name *names,
                                              const struct spex_probe_name *names_end,
                                              const char *provider, char name[SPEX_NAME_BYTES]);

#endif
