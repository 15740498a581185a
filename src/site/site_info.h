/* SPDX-License-Identifier: MIT */
/* The registry's data of a site, and the time that its probe was on. registry.h says which members
 * may be read without the registry's lock. */
#ifndef SPEX_SITE_SITE_INFO_H
#define SPEX_SITE_SITE_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/site.h>

#include "site/sampling.h"

/* Measures how long at least one of a probe's sites was in some state. */
struct spex_site_clock {
    /* Sites that are in the state now. */
    uint32_t running;
    /* Ticks when the first of these entered it. */
    uint64_t since;
    /* Ticks in the state before `since`, from spex_sites_time_begin on. */
    uint64_t ticks;
};

/* A site. The info stays when the site's library is unloaded. */
struct spex_site_info {
    /* NULL: the site is unloaded. */
    struct spex_site *site;
    /* Whose probe it is (provider.h). Equal providers are the same string; they stay. */
    const char *provider;
    /* NULL: unnamed. */
    char *name;
    /* The source file, as the compiler named it. */
    char *file;
    /* KERNEL: the parameters as they are written, "n, m". SNAPSHOT: the values. NULL: other
     * types. */
    char *parameters;
    /* The developer's id; -1: the probe has a name in its place. */
    int32_t id;
    uint32_t line;
    /* The period that the developer gave the site; a region's most executions per pass. */
    uint32_t subsample;
    /* The generation of the site's control word: 1 to SPEX_CONTROL_GENERATIONS; 0: the site has
     * never been on. */
    uint32_t generation;
    /* The probe's number in this process, which records have: the id, unless a probe of another
     * provider had that number first. Sites of one provider with one id, or with one name and no
     * id, share it. */
    uint16_t probe_id;
    /* The region that the site stands in; 0: none. */
    uint16_t region;
    /* 0: this is the site of a region, which is no probe. */
    uint16_t probe_type;
    /* PERFCNTR: the counter's number. SNAPSHOT and KERNEL: the number of values or parameters. */
    uint8_t detail;
    /* Values that a record of the site stores beside its weight. */
    uint8_t values;
    /* The kinds of a record's fields, as the record has them. */
    uint32_t kinds;
    /* The first site with the same number and type: these sites make one probe. SPEX_MAX_SITES for
     * a region. */
    uint16_t probe;
    /* The next site of the probe; SPEX_MAX_SITES at the end. */
    uint16_t next;
    /* In a probe's first site and in the site of a region: the group (registry.h), by the index of
     * a region's site; SPEX_MAX_SITES: none. */
    uint16_t group;
    /* In a probe's first site: how many of the probe's sites are not loaded any more. */
    uint32_t unloaded;
    /* In a probe's first site: the probe has, or had, another site that was refused. */
    bool refused;
    /* The sampling that the selection gives the site; period 0: off. */
    struct spex_sampling selected;
    /* When the lease of that ends (CLOCK_BOOTTIME); 0: it is not leased. */
    uint64_t leased_until_ns;
    /* The shortest period that the controller allows; 0: any; or SPEX_SITE_HELD,
     * SPEX_SITE_POLLED, SPEX_SITE_CALLED, SPEX_SITE_COUNTED. */
    uint32_t slowed;
    /* The site is on, or has been on since spex_sites_time_begin. */
    bool used;
    /* The site is selected, but the controller keeps it off. */
    bool held;
    /* The sampling in force, or the last one while the site is off. In a region: the wanted one. */
    struct spex_sampling sampling;
    /* The period that all of the region's sites have, if the site stands in one. */
    uint32_t region_period;
    /* The longest since spex_sites_time_begin. */
    uint32_t region_longest;
    /* In the probe's first site, for the whole probe: the time that it was on, that it was on and
     * made records, and that a site was kept off by the controller. */
    struct spex_site_clock on;
    struct spex_site_clock recording;
    struct spex_site_clock kept_off;
};

/* Value of `slowed`: the controller keeps the site off for a while. */
#define SPEX_SITE_HELD UINT32_MAX

/* Value of `slowed`: the controller lets the site be polled only. */
#define SPEX_SITE_POLLED (UINT32_MAX - 1)

/* Value of `slowed`: executions make no record, but some call the library (SPEX_SAMPLING_CALLED),
 * so that an experiment tells what executions cost. Not for sites in regions. */
#define SPEX_SITE_CALLED (UINT32_MAX - 2)

/* Value of `slowed`: executions are counted and make no record (SPEX_SAMPLING_COUNTED). A long period in
 * its place would now and then make a record that stands for more executions than all others
 * together. In regions it is the longest period. */
#define SPEX_SITE_COUNTED (UINT32_MAX - 3)

/* Returns whether the info is of a region (spex/region.h) and not of a probe. */
static inline bool spex_site_is_region(const struct spex_site_info *info) {
    return info->probe_type == 0;
}

#endif
