/* SPDX-License-Identifier: MIT */
/* The state of a probe's sites together: which are on, how they are sampled, and for how long. */
#ifndef SPEX_SITE_PROBE_STATE_H
#define SPEX_SITE_PROBE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "site/sampling.h"

struct spex_probe_state {
    /* Sites that are loaded. */
    uint32_t sites;
    uint32_t sites_on;
    /* The shortest period that the selection gives a site; 0: it gives none. */
    uint32_t selected;
    /* The selection itself says that the probe is to be probed. */
    bool by_hand;
    /* The probe is on, or has been since spex_sites_time_begin. */
    bool used;
    /* Of the site with the shortest period now; period 0: off. */
    struct spex_sampling sampling;
    /* The same, or, while the probe is off, its last sampling. */
    struct spex_sampling sampling_last;
    /* Time during which at least one site was on. */
    uint64_t on_ticks;
    /* The part of that time during which no site made records, as all were probed. */
    uint64_t polled_ticks;
};

/* `first`: the probe's first site. `until`: time is counted up to these ticks. */
struct spex_probe_state spex_probe_state(uint32_t first, uint64_t until);

/* The first probe from site `index` on that is or was on, as its first site; spex_sites_count()
 * when there is none. */
uint32_t spex_profile_next_probe(uint32_t index);

/* A site's sampling; period 0: off. `*loaded`: whether the site is loaded. */
struct spex_sampling spex_site_sampling(uint32_t index, bool *loaded);

/* Whether the site is on, or has been since spex_sites_time_begin. */
bool spex_site_used(uint32_t index);

/* From now on the time that sites are on is counted, from 0. */
void spex_sites_time_begin(void);

#endif
