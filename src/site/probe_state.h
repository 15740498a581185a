/* SPDX-License-Identifier: MIT */
/* The state of a probe: which of its sites are on, how they are sampled, and for how long they have
 * been on. The sites with one id and type make one probe. All functions take the registry's lock;
 * any thread may call them, not signal handlers. */
#ifndef SPEX_SITE_PROBE_STATE_H
#define SPEX_SITE_PROBE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "site/sampling.h"

struct spex_probe_state {
    /* Sites that are loaded, and those of them that are on. */
    uint32_t sites;
    uint32_t sites_on;
    /* The shortest period that the selection gives a site, also one that is not loaded at present;
     * 0: it gives none. */
    uint32_t selected;
    /* The selection itself says that the probe is polled ("@poll"), not the controller. */
    bool by_hand;
    /* The probe is on, or has been since spex_sites_time_begin. */
    bool used;
    /* Another site of it was refused, of whose executions nothing is known. */
    bool refused;
    /* The sampling of the site with the shortest period now; period 0: the probe is off. */
    struct spex_sampling sampling;
    /* The same while the probe is on; otherwise the probe's last sampling. */
    struct spex_sampling sampling_last;
    /* Ticks during which at least one site was on, since spex_sites_time_begin. */
    uint64_t on_ticks;
    /* The part of `on_ticks` during which no site made records, because all that were on were
     * polled. */
    uint64_t polled_ticks;
    /* The longest period that a region has had in which one of its sites stands, since
     * spex_sites_time_begin; 1: it stands in none, or every execution was chosen. */
    uint32_t region_longest;
    /* Ticks during which the controller kept a site off that the selection switches on. */
    uint64_t held_ticks;
};

/* Returns the state of the probe whose first site is `first`. Times are counted up to `until`, in
 * ticks. */
struct spex_probe_state spex_probe_state(uint32_t first, uint64_t until);

/* Returns the first site, at or after `index`, of a probe that is or was on; spex_sites_count()
 * when there is none. For loops over the probes that belong into a profile. */
uint32_t spex_profile_next_probe(uint32_t index);

/* Returns a site's sampling; period 0: off. Sets *loaded to whether the site is loaded. */
struct spex_sampling spex_site_sampling(uint32_t index, bool *loaded);

/* Returns whether the site is on, or has been since spex_sites_time_begin. */
bool spex_site_used(uint32_t index);

/* Begins to count the time that sites are on, from 0. */
void spex_sites_time_begin(void);

#endif
