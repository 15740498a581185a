/* SPDX-License-Identifier: MIT */
/* A module gives names to ids, and its provider, by the entries of its section `spex_names`. */
#include "site/probe_identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site/provider.h"
#include "site/registry_state.h"
#include "site/site_text.h"

void spex_module_provider(const struct spex_site *sites, const struct spex_probe_name *names,
                          const struct spex_probe_name *names_end, char *provider) {
    for (const struct spex_probe_name *entry = names; entry < names_end; entry++)
        if (spex_provider_declared(entry)) {
            snprintf(provider, SPEX_NAME_BYTES, "%s", spex_provider_declared(entry));
            return;
        }
    spex_provider_of_address(sites, provider);
}

const char *spex_provider_keep(const char *name) {
    struct spex_provider *provider = spex_registry.providers;
    while (provider && strcmp(provider->name, name) != 0)
        provider = provider->next;
    if (!provider && (provider = malloc(sizeof(*provider)))) {
        snprintf(provider->name, sizeof(provider->name), "%s", name);
        provider->next = spex_registry.providers;
        spex_registry.providers = provider;
    }
    return provider ? provider->name : NULL;
}

/* Returns the name that the module gives the id, or NULL. */
static const char *probe_name_find(uint16_t id, const struct spex_probe_name *names,
                                   const struct spex_probe_name *names_end) {
    for (; names < names_end; names++)
        if (names->probe_id == id && names->name[0] && !spex_provider_declared(names))
            return names->name;
    return NULL;
}

/* Returns the id to which the module gives the name, or -1. */
static int32_t probe_id_find(const char *name, const struct spex_probe_name *names,
                             const struct spex_probe_name *names_end) {
    for (; names < names_end; names++)
        if (name[0] && !spex_provider_declared(names) && strcmp(names->name, name) == 0)
            return names->probe_id;
    return -1;
}

/* Writes the name that the site has in the place of an id. False: it has an id. */
static bool site_name(const struct spex_site *site, char name[SPEX_NAME_BYTES]) {
    if (!(site->type_number & SPEX_SITE_NAMED))
        return false;
    const char *arguments = spex_site_file(site) + strlen(spex_site_file(site)) + 1;
    spex_name_of_literal(arguments + strlen(arguments) + 1, name, SPEX_NAME_BYTES);
    return true;
}

struct spex_probe_identity spex_site_identify(const struct spex_site *site,
                                              const struct spex_probe_name *names,
                                              const struct spex_probe_name *names_end,
                                              const char *provider, char name[SPEX_NAME_BYTES]) {
    struct spex_probe_identity probe = {.provider = provider, .name = name};
    if (site_name(site, name)) {
        probe.id = probe_id_find(name, names, names_end);
    } else {
        probe.name = probe_name_find(site->probe_id, names, names_end);
        probe.id = site->probe_id;
    }
    return probe;
}
