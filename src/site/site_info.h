/* SPDX-License-Identifier: MIT */
/* What the registry knows of a site. */
#ifndef SPEX_SITE_SITE_INFO_H
#define SPEX_SITE_SITE_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/site.h>

#include "site/sampling.h"

/* How long at least one of a probe's sites was in some state. */
struct spex_site_clock {
    /* Sites that are in the state now. */
    uint32_t running;
    /* Ticks when the first of these entered it. */
    uint64_t since;
    /* Before that, from spex_sites_time_begin on. */
    uint64_t ticks;
};

/* Stays when the site's library is unloaded. */
struct spex_site_info {
    /* NULL: the site is unloaded. */
    struct spex_site *site;
    /* NULL: unnamed. */
    char *name;
    char *file;
    /* KERNEL: the parameters as they are written, "n, m"; NULL: other types. */
    char *parameters;
    uint32_t line;
    uint32_t subsample;
    /* 1 to SPEX_CONTROL_GENERATIONS; 0: the site has never been on. */
    uint32_t generation;
    uint16_t probe_id;
    /* The region that the site stands in; 0: none. */
    uint16_t region;
    /* 0: this is the site of a region, which is no probe. */
    uint16_t probe_type;
    /* PERFCNTR: the counter's number. */
    uint8_t detail;
    /* Values that a record of the site stores beside its weight. */
    uint8_t values;
    /* The first site with the same id and type: these sites make one probe. SPEX_MAX_SITES for a
     * region. */
    uint16_t probe;
    /* The next site of the probe; SPEX_MAX_SITES at the end. */
    uint16_t next;
    /* What the selection gives the site; period 0: off. */
    struct spex_sampling selected;
    /* The shortest period that the controller allows; 0: any; or SPEX_SITE_HELD,
     * SPEX_SITE_POLLED. */
    uint32_t slowed;
    /* The site has been on since spex_sites_time_begin. */
    bool used;
    /* The sampling in force, or the last one while the site is off. In a region: the wanted one. */
    struct spex_sampling sampling;
    /* In a region: the period that all of the region's sites have. */
    uint32_t region_period;
    /* In the probe's first site, for the whole probe: the time that it was on, and that it was on
     * and made records. */
    struct spex_site_clock on;
    struct spex_site_clock recording;
};

/* The controller keeps the site off for a while. */
#define SPEX_SITE_HELD UINT32_MAX

/* The controller lets the site be probed only. */
#define SPEX_SITE_POLLED (UINT32_MAX - 1)

static inline bool spex_site_is_region(const struct spex_site_info *info) {
    return info->probe_type == 0;
}

#endif
