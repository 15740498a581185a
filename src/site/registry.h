/* SPDX-License-Identifier: MIT */
/* Registry of probe sites: which there are, which are on. Control words are written by
 * control_word.c. */
#ifndef SPEX_SITE_REGISTRY_H
#define SPEX_SITE_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#include "ring/record_layout.h"
#include "site/probe_state.h"
#include "site/selection.h"
#include "site/site_info.h"

/* Sites registered so far, those of regions included. The infos below the count never change but
 * for `site`, `generation`, `next` and what follows it, which the registry alone reads. */
uint32_t spex_sites_count(void);

/* Those of probes. */
uint32_t spex_sites_of_probes(void);
uint32_t spex_sites_on(void);
uint32_t spex_sites_refused(void);

/* Index below spex_sites_count(). Safe in any thread, without a lock. */
const struct spex_site_info *spex_site_info(uint32_t index);

/* Lets the probe's sites make a record every `period` executions at most, whatever the selection
 * says, and at random where that is longer than the selected period. 0: as the selection says;
 * SPEX_SITE_HELD: no records; SPEX_SITE_POLLED: the sites are probed only. Holds until the next
 * call, or until the selection switches the site off. `first`: the probe's first site. */
void spex_probe_throttle(uint32_t first, uint32_t period);

/* What a selection goes by of a site. */
static inline struct spex_selection_probe spex_site_selected_by(const struct spex_site_info *info) {
    return (struct spex_selection_probe){
        .name = info->name,
        .file = info->file,
        .type = info->probe_type,
        .subsample = info->subsample,
        .id = info->probe_id,
    };
}

/* Sets what is called before a site goes on, with the type and detail of the site and with the
 * registry's lock held. Before any site is on. */
void spex_sites_prepare_types(void (*prepare_type)(uint32_t type, unsigned detail));

/* Whether each record, a periodic one too, must be allowed by its thread's budget. Before any site
 * is on. */
void spex_sites_bound_records(bool bounded);

/* Replaces the selection, or adds to it when the new one is relative; takes over its contents in
 * any case, and applies it to all sites, those to come included. The number of sites on; -E2BIG or
 * -ENOMEM: all is as it was. */
int spex_sites_select(struct spex_selection selection);

/* Replaces what the process itself needs, whatever is selected: it decides about sites of which the
 * selection says nothing. Takes over its contents. */
void spex_sites_need(struct spex_selection selection);

/* What is selected, as spex_selection_text. */
int spex_sites_selection(char *text, size_t size);

/* Sites that are probed, probe by probe. */
struct spex_sites_polled {
    /* The registry's count of changes when this was filled in; 0: never. */
    uint32_t changes;
    uint32_t count;
    uint16_t sites[SPEX_MAX_SITES];
};

/* Brings it up to date. Quick where nothing has changed. */
void spex_sites_polled(struct spex_sites_polled *polled);

/* Puts the sites of all probes that are loaded now into `infos`, which has room for SPEX_MAX_SITES.
 * Returns their number. */
uint32_t spex_sites_loaded(const struct spex_site_info **infos);

/* Around fork, so that the child finds the registry whole; in the child all sites go off. */
void spex_sites_fork_prepare(void);
void spex_sites_fork_parent(void);
void spex_sites_fork_child(void);

/* In that child, once: takes the parent's selection from the registry. To be freed. */
void spex_sites_inherit(struct spex_selection *selection);

#endif
