/* SPDX-License-Identifier: MIT */
/* The registry's state. Only the files of the registry share it: registry.c, control_word.c and
 * probe_state.c. */
#ifndef SPEX_SITE_REGISTRY_STATE_H
#define SPEX_SITE_REGISTRY_STATE_H

#include <pthread.h>

#include "site/registry.h"

enum { SPEX_PROBE_BUCKETS = 2 * SPEX_MAX_SITES };

/* A loaded object that has probes. */
struct spex_module {
    struct spex_module *next;
    struct spex_site *sites;
    struct spex_site *sites_end;
    /* At least one of the sites stands in a region. */
    bool regions;
};

struct spex_registry {
    pthread_mutex_t lock;
    struct spex_module *modules;
    struct spex_site_info infos[SPEX_MAX_SITES];
    /* The probes' first sites, + 1, by a hash of id and type. */
    uint16_t probes[SPEX_PROBE_BUCKETS];
    /* The infos below `count` are complete. */
    uint32_t count;
    /* Infos of regions, which belong to no probe. */
    uint32_t regions;
    /* Sites that stay off. */
    uint32_t refused;
    /* Changes when a site begins to be probed, or ceases to be. */
    uint32_t polling_changes;
    struct spex_selection selection;
    /* Decides about the sites of which `selection` says nothing. */
    struct spex_selection needed;
    /* See spex_sites_prepare_types and spex_sites_bound_records. */
    void (*prepare_type)(uint32_t type, unsigned detail);
    bool records_bounded;
};

extern struct spex_registry spex_registry;

#endif
