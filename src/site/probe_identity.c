/* SPDX-License-Identifier: MIT */
/* A module gives names to ids, and its provider, by the entries of its section `spex_names`. */
#include "site/probe_identity.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "site/provider.h"
#include "site/registry_state.h"
#include "site/site_text.h"
#include "text/message.h"

void spex_module_find_origin(const struct spex_site *sites, const struct spex_probe_name *names,
                             const struct spex_probe_name *names_end,
                             struct spex_module_origin *origin) {
    origin->declared = NULL;
    for (const struct spex_probe_name *entry = names; entry < names_end; entry++)
        if ((origin->declared = spex_provider_declared(entry)))
            return;
    spex_object_path(sites, origin->path);
}

static bool is_provider_of(const struct spex_provider *provider,
                           const struct spex_module_origin *origin) {
    return origin->declared || !provider->path || strcmp(provider->path, origin->path) == 0;
}

static struct spex_provider *provider_add(const char *name,
                                          const struct spex_module_origin *origin) {
    struct spex_provider *provider = spex_calloc(1, sizeof(*provider));
    if (!provider || (!origin->declared && !(provider->path = spex_strdup(origin->path)))) {
        spex_free(provider);
        return NULL;
    }
    snprintf(provider->name, sizeof(provider->name), "%s", name);
    provider->next = spex_registry.providers;
    spex_registry.providers = provider;
    return provider;
}

static struct spex_provider *provider_find(const char *name) {
    struct spex_provider *provider = spex_registry.providers;
    while (provider && strcmp(provider->name, name) != 0)
        provider = provider->next;
    return provider;
}

const char *spex_provider_keep(const struct spex_module_origin *origin) {
    enum { SUFFIX_BYTES = 12 };
    char base[SPEX_NAME_BYTES], name[SPEX_NAME_BYTES];
    if (origin->declared)
        snprintf(base, sizeof(base), "%s", origin->declared);
    else
        spex_provider_of_path(origin->path, base);
    memcpy(name, base, sizeof(name));
    struct spex_provider *provider;
    for (unsigned n = 2; (provider = provider_find(name)) && !is_provider_of(provider, origin); n++)
        snprintf(name, sizeof(name), "%.*s.%u", SPEX_NAME_BYTES - SUFFIX_BYTES, base, n);
    if (!provider)
        provider = provider_add(name, origin);
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

void spex_names_differ(const char *provider, int32_t id, const char *first, const char *other) {
    if (!spex_registry.names_differ++)
        snprintf(spex_registry.different_names, sizeof(spex_registry.different_names),
                 "probe %s/%d has two names, \"%s\" and \"%s\": it is called \"%s\"",
                 provider ? provider : "?", (int)id, first, other, first);
}

void spex_names_tell(void) {
    char text[sizeof(spex_registry.different_names)];
    spex_lock_take(&spex_registry.lock);
    const uint32_t differ = spex_registry.sites_on ? spex_registry.names_differ : 0;
    if (differ) {
        memcpy(text, spex_registry.different_names, sizeof(text));
        spex_registry.names_differ = 0;
    }
    spex_lock_give(&spex_registry.lock);
    if (differ)
        spex_message("%s%s", text, differ > 1 ? "; others have two names, too" : "");
}

void spex_names_check(const struct spex_probe_name *names, const struct spex_probe_name *names_end,
                      const char *provider) {
    uint64_t seen[(UINT16_MAX + 1) / 64] = {0};
    for (const struct spex_probe_name *entry = names; entry < names_end; entry++) {
        const uint16_t id = entry->probe_id;
        if (!entry->name[0] || spex_provider_declared(entry))
            continue;
        const char *name =
            seen[id / 64] >> id % 64 & 1 ? probe_name_find(id, names, names_end) : "";
        if (*name && strcmp(name, entry->name) != 0)
            spex_names_differ(provider, id, name, entry->name);
        seen[id / 64] |= UINT64_C(1) << id % 64;
    }
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
