/* SPDX-License-Identifier: MIT */
/* Groups of probes that stand in regions together (registry.h): the connected parts of the graph of
 * probes and regions. All infos of a group have the same label, the index of one of its regions. */
#include <stdint.h>

#include "site/registry.h"
#include "site/registry_state.h"

/* A region of a module by its id: the index of one of its sites. Scratch memory of
 * spex_probe_groups_join; static because it is too large for a stack. */
static uint16_t region_sites[UINT16_MAX + 1];

uint32_t spex_probe_group(uint32_t index) {
    spex_lock_take(&spex_registry.lock);
    uint32_t group = spex_registry_info(index)->group;
    spex_lock_give(&spex_registry.lock);
    return group;
}

/* Gives the info the label `group`, and with it all that have its label so far. */
static void group_join(struct spex_site_info *info, uint16_t group) {
    uint16_t before = info->group;
    info->group = group;
    for (uint32_t i = 0; before != SPEX_MAX_SITES && i < spex_registry.count; i++)
        if (spex_registry_info(i)->group == before)
            spex_registry_info(i)->group = group;
}

/* Returns the info of a site in a region; NULL: the site stands in none, or was refused. */
static struct spex_site_info *info_in_region(const struct spex_site *site) {
    return site->region ? spex_registry_info_of(site) : NULL;
}

/* Sites of regions have labels first. Several regions may have one id. */
void spex_probe_groups_join(const struct spex_module *module) {
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++)
        region_sites[site->region] = SPEX_MAX_SITES;
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++) {
        struct spex_site_info *info = info_in_region(site);
        if (!info || site->type_number)
            continue;
        if (info->group == SPEX_MAX_SITES)
            info->group = (uint16_t)site->index;
        if (region_sites[site->region] == SPEX_MAX_SITES)
            region_sites[site->region] = (uint16_t)site->index;
        group_join(info, spex_registry_info(region_sites[site->region])->group);
    }
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++) {
        const struct spex_site_info *info = info_in_region(site);
        if (info && site->type_number && region_sites[site->region] != SPEX_MAX_SITES)
            group_join(spex_registry_info(info->probe),
                       spex_registry_info(region_sites[site->region])->group);
    }
}
