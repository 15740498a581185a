/* SPDX-License-Identifier: MIT */
/* The registry's state. Only the files of the registry share it: registry.c, control_word.c,
 * leases.c, probe_identity.c, probe_state.c and refused.c. */
#ifndef SPEX_SITE_REGISTRY_STATE_H
#define SPEX_SITE_REGISTRY_STATE_H

#include "base/lock.h"
#include "site/probe_identity.h"
#include "site/registry.h"

/* Buckets of the hash table of probes; never more than half of them are in use. */
enum { SPEX_PROBE_BUCKETS = 2 * SPEX_MAX_SITES };

/* A loaded object that has probes. */
struct spex_module {
    struct spex_module *next;
    struct spex_site *sites;
    struct spex_site *sites_end;
    /* What identifies the probes of the sites. */
    const struct spex_probe_name *names;
    const struct spex_probe_name *names_end;
    const char *provider;
    /* At least one of the sites stands in a region. */
    bool regions;
    /* At least one of the sites was refused. */
    bool refused;
    /* Registered before the program was, so a library that the loader never unloads. */
    bool early;
};

enum { SPEX_REFUSED_NAMED = 3, SPEX_REFUSED_NAME_BYTES = 2 * SPEX_NAME_BYTES + 16 };

/* Sites that were refused for want of room. */
struct spex_refused {
    uint32_t count;
    /* How many have been told. */
    uint32_t told;
    /* Probes without any other site that have not been told: the first ones, and whether there are
     * more. */
    uint32_t named;
    bool more;
    char names[SPEX_REFUSED_NAMED][SPEX_REFUSED_NAME_BYTES];
};

/* A provider that was ever loaded. */
struct spex_provider {
    struct spex_provider *next;
    /* The object's, where it declares no provider; NULL: it declares one. */
    char *path;
    char name[SPEX_NAME_BYTES];
};

struct spex_registry {
    struct spex_lock lock;
    struct spex_module *modules;
    struct spex_provider *providers;
    /* The infos below `count` are complete. S1 and S2 in registry.c order this. */
    uint32_t count;
    /* How many of the infos are of regions, which belong to no probe. */
    uint32_t regions;
    /* Sites of probes that are on. Collectors ask for it after passes without records. */
    uint32_t sites_on;
    /* Sites that were refused and stay off, for whatever reason. */
    uint32_t sites_refused;
    struct spex_refused refused;
    /* Grows by 1 when a site begins or ceases to be polled. */
    uint32_t polling_changes;
    /* Grows by 1 when another site may be selected, or there are others. */
    uint32_t selections;
    /* The user's selection, and when its first lease ends (CLOCK_BOOTTIME; 0: none does). */
    struct spex_selection selection;
    uint64_t lease_end_ns;
    /* The selection of the process itself. Decides about the sites that `selection` does not
     * match. */
    struct spex_selection needed;
    /* How many ids with two names nobody has been told of yet, and what to tell of the first. */
    uint32_t names_differ;
    char different_names[5 * SPEX_NAME_BYTES];
    /* See spex_sites_prepare_types and spex_sites_bound_records. */
    bool (*prepare_type)(uint32_t type, unsigned detail);
    /* Mask of the types that were prepared since sites were selected or registered. */
    uint32_t prepared;
    bool records_bounded;
    /* See spex_sites_begin_in_bursts. */
    bool begins_in_bursts;
    /* See spex_sites_on_arrival. */
    const struct spex_sites_arrival *arrival;
    /* So many of the highest numbers are taken. */
    uint32_t numbers_used;
    /* How many of the infos are of sites that are not loaded any more. */
    uint32_t unloaded;
    /* Of these, those of regions. */
    uint32_t regions_unloaded;
    /* Some site may be selected. */
    bool any_selected;
    /* The constructors of the libraries that are loaded with this one have been called. */
    bool libraries_there;
    /* See spex_sites_await_calls. */
    bool may_be_called;
    void (*answer)(void);
    void (*come)(void);
    /* The tables come last, so that a program with few sites touches few pages. */
    struct spex_site_info *infos[SPEX_SITE_BLOCKS];
    struct spex_site_info first[SPEX_SITE_BLOCK];
    /* Hash table over provider and id: index + 1 of the probe's first site; 0: empty. */
    uint16_t probes[SPEX_PROBE_BUCKETS];
    /* A bit for each number that a probe has (site_info.h). */
    uint64_t numbers[(UINT16_MAX + 1) / 64];
};

extern struct spex_registry spex_registry;

/* Returns an info whose block is there. */
static inline struct spex_site_info *spex_registry_info(uint32_t index) {
    return &spex_registry.infos[index / SPEX_SITE_BLOCK][index % SPEX_SITE_BLOCK];
}

/* Returns the info of a loaded site; NULL: it was refused. */
static inline struct spex_site_info *spex_registry_info_of(const struct spex_site *site) {
    struct spex_site_info *info =
        site->index < spex_registry.count ? spex_registry_info(site->index) : NULL;
    return info && info->site == site ? info : NULL;
}

/* Returns the number of values in a record of the site beside the weight. */
uint8_t spex_site_values(const struct spex_site *site);

/* Returns whether the entry is the empty one of spex/detail/module.h. */
static inline bool spex_site_is_empty(const struct spex_site *site) {
    return !site->type_number && !site->region;
}

/* Applies the selections to all sites. The lock is held. */
void spex_registry_apply_selection(void);

/* Makes groups of the probes that stand in the module's regions. With the registry's lock held. */
void spex_probe_groups_join(const struct spex_module *module);

#endif
