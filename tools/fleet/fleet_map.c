/* SPDX-License-Identifier: MIT */
#include "tools/fleet/fleet_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/probe_type.h"
#include "tools/common/complain.h"
#include "tools/list/program_list.h"

static struct spex_selection_probe probe_of(const struct spex_object_sites *sites,
                                            const struct spex_object_site *site) {
    int32_t id = spex_object_site_id(site);
    return (struct spex_selection_probe){.provider = sites->provider,
                                         .name = *site->name ? site->name : NULL,
                                         .file = site->file,
                                         .type = site->probe_type,
                                         .subsample = site->subsample,
                                         .id = id,
                                         .number = id < 0 ? UINT16_MAX : site->probe_id};
}

static size_t unit_of(const struct spex_fleet_policy *policy,
                      const struct spex_selection_probe *probe) {
    size_t u = 0;
    while (u < policy->unit_count && !spex_fleet_unit_matches(policy, &policy->units[u], probe))
        u++;
    return u;
}

static void probe_text(const struct spex_object_sites *sites, const struct spex_object_site *site,
                       char *text, size_t size) {
    const char *provider = sites->provider, *type = spex_probe_type_name(site->probe_type);
    const char *slash = *provider ? "/" : "";
    if (*site->name)
        snprintf(text, size, "%s%s%s:%s", provider, slash, site->name, type);
    else
        snprintf(text, size, "%s%s%" PRIu16 ":%s", provider, slash, site->probe_id, type);
}

/* The sites of a probe make one entry, of the first unit that has one of them. */
static void add_site(const struct spex_fleet_policy *policy, const struct spex_object_sites *sites,
                     const struct spex_object_site *site, struct spex_fleet_probes *probes) {
    struct spex_fleet_probe *added = &probes->items[probes->count];
    struct spex_selection_probe probe = probe_of(sites, site);
    added->unit = unit_of(policy, &probe);
    probe_text(sites, site, added->text, sizeof(added->text));
    for (size_t p = 0; p < probes->count; p++)
        if (strcmp(probes->items[p].text, added->text) == 0) {
            if (added->unit < probes->items[p].unit)
                probes->items[p].unit = added->unit;
            return;
        }
    probes->count++;
}

static void note_response(const struct spex_selection *response,
                          const struct spex_object_sites *sites,
                          const struct spex_object_site *site, struct spex_fleet_probes *probes) {
    struct spex_selection_probe probe = probe_of(sites, site);
    if (response->count && spex_selection_item_matches(&response->items[0], &probe))
        probes->response = true;
}

/* Sites of unknown types and of regions are no probes. */
static void add_all(const struct spex_fleet_policy *policy, const struct spex_probe_list *list,
                    const struct spex_selection *response, struct spex_fleet_probes *probes) {
    for (size_t o = 0; o < list->object_count; o++) {
        const struct spex_object_sites *sites = &list->objects[o].sites;
        for (size_t s = 0; s < sites->count; s++)
            if (sites->items[s].probe_type) {
                add_site(policy, sites, &sites->items[s], probes);
                note_response(response, sites, &sites->items[s], probes);
            }
    }
    for (size_t p = 0; p < probes->count; p++)
        probes->covered += probes->items[p].unit < policy->unit_count;
}

int spex_fleet_probes_read(const struct spex_fleet_policy *policy, const char *program,
                           struct spex_fleet_probes *probes) {
    struct spex_probe_list list = {.program = NULL};
    struct spex_selection response = {.items = NULL};
    struct spex_error error = {""};
    *probes = (struct spex_fleet_probes){.items = NULL};
    int status = spex_probe_list_collect(&list, program);
    if (status == SPEX_EXIT_OK) {
        probes->items = calloc(list.site_count + 1, sizeof(*probes->items));
        if (probes->items && !spex_selection_parse(policy->response.probe, &response, &error))
            add_all(policy, &list, &response, probes);
        else
            status = spex_complain(SPEX_EXIT_FAILED, "out of memory");
    }
    spex_selection_free(&response);
    spex_probe_list_free(&list);
    return status;
}

void spex_fleet_probes_free(struct spex_fleet_probes *probes) {
    free(probes->items);
    probes->items = NULL;
}
