/* SPDX-License-Identifier: MIT */
#include "sites.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>

#include "message.h"
#include "preparation.h"
#include "probe_type.h"

static struct {
    pthread_mutex_t lock;
    struct spex_site_info infos[SPEX_MAX_SITES];
    uint32_t count;   /* infos below it are complete */
    uint32_t refused; /* sites there was no room for */
    struct spex_selection selection;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint32_t spex_sites_count(void) {
    return spex_load_acquire(&registry.count); /* S1 (S2) */
}

uint32_t spex_sites_refused(void) {
    return spex_load_relaxed(&registry.refused);
}

const struct spex_site_info *spex_site_info(uint32_t index) {
    return &registry.infos[index];
}

/* The one place where a control word is written. A probe that sees the new word late is late,
 * nothing else. */
static void site_set_control(struct spex_site *site, uint32_t control) {
    /* A probe that finds its site on finds its index, the rings and the threads' states. */
    spex_store_release(&site->control, control); /* P2 (P1 in probe.h, P1 in probes.c) */
}

/* Keeps the generation while the site stays on. */
static void site_apply(struct spex_site_info *info) {
    if (!info->site)
        return;
    uint32_t period = spex_selection_control(&registry.selection, info->probe_id, info->name,
                                             info->probe_type, info->subsample);
    if (period && !spex_load_relaxed(&info->site->control)) {
        info->generation = info->generation % SPEX_CONTROL_GENERATIONS + 1;
        spex_preparation(info->probe_type, info->detail);
    }
    uint32_t generation = info->generation << SPEX_CONTROL_GENERATION_SHIFT;
    site_set_control(info->site, period ? generation | period : 0);
}

static const char *name_of(uint16_t id, const struct spex_probe_name *names,
                           const struct spex_probe_name *names_end) {
    for (; names < names_end; names++)
        if (names->probe_id == id)
            return names->name;
    return NULL;
}

static uint8_t values_of(const struct spex_site *site) {
    return site->probe_type == SPEX_SNAPSHOT ? site->detail
                                             : (uint8_t)spex_probe_type_values(site->probe_type);
}

static bool site_register(struct spex_site *site, const char *name) {
    uint32_t index = registry.count;
    if (index == SPEX_MAX_SITES)
        return false;
    if (values_of(site) > SPEX_MAX_FIELDS) {
        spex_message("probe %u stays off: it has %u values, and this library was built for %d",
                     site->probe_id, values_of(site), SPEX_MAX_FIELDS);
        return false;
    }
    const char *file = (const char *)&site->file_offset + site->file_offset;
    struct spex_site_info *info = &registry.infos[index];
    *info = (struct spex_site_info){
        .site = site,
        .name = name ? strdup(name) : NULL,
        .file = strdup(file),
        .line = site->line,
        .subsample = site->subsample,
        .probe_id = site->probe_id,
        .probe_type = site->probe_type,
        .detail = site->detail,
        .values = values_of(site),
    };
    site->index = index;
    spex_store_release(&registry.count, index + 1); /* S2 (S1): the info is complete */
    site_apply(info);
    return true;
}

static bool module_known(const struct spex_site *sites) {
    for (uint32_t i = 0; i < registry.count; i++)
        if (registry.infos[i].site == sites)
            return true;
    return false;
}

void spex_module_register(struct spex_site *sites, struct spex_site *sites_end,
                          const struct spex_probe_name *names,
                          const struct spex_probe_name *names_end) {
    pthread_mutex_lock(&registry.lock);
    if (sites != sites_end && !module_known(sites)) {
        for (struct spex_site *site = sites; site < sites_end; site++)
            if (!site_register(site, name_of(site->probe_id, names, names_end)))
                registry.refused++;
        if (registry.count == SPEX_MAX_SITES && registry.refused)
            spex_message("%u probe sites stay off: no more than %d can be managed",
                         registry.refused, SPEX_MAX_SITES);
    }
    pthread_mutex_unlock(&registry.lock);
}

/* A module's sites have consecutive indices and addresses, from its first site on. */
void spex_module_unregister(struct spex_site *sites) {
    pthread_mutex_lock(&registry.lock);
    for (uint32_t i = 0; sites && i < registry.count; i++) {
        struct spex_site_info *info = &registry.infos[i];
        if (info->site == sites) {
            site_set_control(sites, 0);
            info->site = NULL;
            sites++;
        }
    }
    pthread_mutex_unlock(&registry.lock);
}

uint32_t spex_sites_on(void) {
    uint32_t on = 0;
    pthread_mutex_lock(&registry.lock);
    for (uint32_t i = 0; i < registry.count; i++)
        on += registry.infos[i].site && spex_load_relaxed(&registry.infos[i].site->control) != 0;
    pthread_mutex_unlock(&registry.lock);
    return on;
}

int spex_sites_select(struct spex_selection selection) {
    pthread_mutex_lock(&registry.lock);
    spex_selection_free(&registry.selection);
    registry.selection = selection;
    for (uint32_t i = 0; i < registry.count; i++)
        site_apply(&registry.infos[i]);
    pthread_mutex_unlock(&registry.lock);
    return (int)spex_sites_on();
}

void spex_sites_fork_prepare(void) {
    pthread_mutex_lock(&registry.lock);
}

void spex_sites_fork_parent(void) {
    pthread_mutex_unlock(&registry.lock);
}

void spex_sites_fork_child(void) {
    spex_selection_free(&registry.selection);
    for (uint32_t i = 0; i < registry.count; i++)
        site_apply(&registry.infos[i]);
    pthread_mutex_unlock(&registry.lock);
}
