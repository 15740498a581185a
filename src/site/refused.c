/* SPDX-License-Identifier: MIT */
#include "site/refused.h"

#include <stdio.h>
#include <string.h>

#include <spex/atomic.h>

#include "ring/probe_type.h"
#include "site/provider.h"
#include "text/message.h"

static bool has_too_many_values(const struct spex_site *site) {
    return spex_site_values(site) > SPEX_MAX_FIELDS;
}

/* Adds a probe's name to those to be told, once. */
static void names_add(struct spex_refused *refused, const char *name) {
    for (uint32_t n = 0; n < refused->named; n++)
        if (strcmp(refused->names[n], name) == 0)
            return;
    if (refused->named < SPEX_REFUSED_NAMED)
        snprintf(refused->names[refused->named++], SPEX_REFUSED_NAME_BYTES, "%s", name);
    else
        refused->more = true;
}

/* `first`: the first site of its probe; NULL: there is none. */
static void refused_note(const struct spex_site *site, const struct spex_probe_identity *probe,
                         const struct spex_site_info *first) {
    char called[SPEX_PROBE_TEXT_BYTES], name[SPEX_REFUSED_NAME_BYTES];
    if (has_too_many_values(site)) {
        spex_message("probe %u stays off: it has %u values, and this library was built for %d",
                     site->probe_id, spex_site_values(site), SPEX_MAX_FIELDS);
        return;
    }
    spex_registry.refused.count++;
    if (first || !spex_site_type_(site))
        return;
    spex_probe_called(probe->provider, probe->name, probe->id, called, sizeof(called));
    snprintf(name, sizeof(name), "%.*s:%s", 2 * SPEX_NAME_BYTES, called,
             spex_probe_type_name(spex_site_type_(site)));
    names_add(&spex_registry.refused, name);
}

static bool is_refused(const struct spex_site *site) {
    return !spex_site_is_empty(site) && !spex_registry_info_of(site);
}

/* Marks the probes that stand in the region: of its code's two copies, the one in which they count
 * is never taken. */
static void region_mark(const struct spex_module *module, uint16_t region) {
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++)
        if (site->region == region && spex_site_type_(site) && !is_refused(site))
            spex_registry_info(spex_registry_info(site->index)->probe)->refused = true;
}

void spex_refused_mark(const struct spex_module *module, bool fresh,
                       struct spex_site_info *(*find)(const struct spex_site *site,
                                                      const struct spex_probe_identity *probe)) {
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++) {
        char name[SPEX_NAME_BYTES];
        if (!is_refused(site))
            continue;
        const struct spex_probe_identity probe =
            spex_site_identify(site, module->names, module->names_end, module->provider, name);
        const bool region = !spex_site_type_(site);
        struct spex_site_info *first = region ? NULL : find(site, &probe);
        if (region)
            region_mark(module, site->region);
        if (first)
            first->refused = true;
        if (fresh)
            refused_note(site, &probe, first);
    }
}

/* Writes the names to be told, with what stands before them; nothing where there are none. */
static void names_write(const struct spex_refused *refused, char *text, size_t size) {
    const char *before = "; nothing is counted of ";
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t n = 0; n < refused->named && length < size; n++, before = ", ")
        length += (size_t)snprintf(text + length, size - length, "%s%s", before, refused->names[n]);
    if (refused->more && length < size)
        snprintf(text + length, size - length, ", …");
}

void spex_refused_tell(void) {
    struct spex_refused *refused = &spex_registry.refused;
    char names[(SPEX_REFUSED_NAMED + 1) * SPEX_REFUSED_NAME_BYTES];
    spex_lock_take(&spex_registry.lock);
    const uint32_t count = refused->count >= 2 * refused->told ? refused->count : 0;
    if (count) {
        names_write(refused, names, sizeof(names));
        *refused = (struct spex_refused){.count = count, .told = count};
    }
    spex_lock_give(&spex_registry.lock);
    if (count)
        spex_message("%u probe sites stay off: no more than %d can be managed%s", count,
                     SPEX_MAX_SITES, names);
}

/* Returns the first refused site of the module that the item matches, or NULL. */
static const struct spex_site *refused_find(const struct spex_module *module,
                                            const struct spex_selection_item *item) {
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++) {
        char name[SPEX_NAME_BYTES];
        if (!is_refused(site) || !spex_site_type_(site))
            continue;
        const struct spex_probe_identity probe =
            spex_site_identify(site, module->names, module->names_end, module->provider, name);
        const struct spex_selection_probe selected = {.provider = probe.provider,
                                                      .name = probe.name,
                                                      .file = spex_site_file(site),
                                                      .type = spex_site_type_(site),
                                                      .subsample = site->subsample,
                                                      .id = probe.id};
        if (spex_selection_item_matches(item, &selected))
            return site;
    }
    return NULL;
}

bool spex_sites_refused_why(const struct spex_selection_item *item, char *text, size_t size) {
    const struct spex_site *site = NULL;
    spex_lock_take(&spex_registry.lock);
    for (const struct spex_module *module = spex_registry.modules; module && !site;
         module = module->next)
        if (module->refused)
            site = refused_find(module, item);
    if (site && has_too_many_values(site))
        snprintf(text, size, "no more than %d values can be recorded", SPEX_MAX_FIELDS);
    else if (site)
        snprintf(text, size, "no more than %d sites can be managed", SPEX_MAX_SITES);
    spex_lock_give(&spex_registry.lock);
    return site != NULL;
}
