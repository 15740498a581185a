/* SPDX-License-Identifier: MIT */
/* What the probe of a site is called: its provider, its id and its name, from the module's entries
 * in the section `spex_names`. */
#ifndef SPEX_SITE_PROBE_IDENTITY_H
#define SPEX_SITE_PROBE_IDENTITY_H

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

/* Sets `provider` to that of a module. Of several declarations the first one counts. To be called
 * without the registry's lock. */
void spex_module_provider(const struct spex_site *sites, const struct spex_probe_name *names,
                          const struct spex_probe_name *names_end, char *provider);

/* Returns the registry's copy of the provider; NULL without memory. The registry's lock is held. */
const char *spex_provider_keep(const char *name);

/* Returns the identity of the site's probe. `name` is room for a name that the site itself has. */
struct spex_probe_identity spex_site_identify(const struct spex_site *site,
                                              const struct spex_probe_name *names,
                                              const struct spex_probe_name *names_end,
                                              const char *provider, char name[SPEX_NAME_BYTES]);

#endif
