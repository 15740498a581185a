/* SPDX-License-Identifier: MIT */
/* Registry of probe sites: which there are, which are on. The only writer of control words. */
#ifndef SPEX_SITES_H
#define SPEX_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/site.h>

#include "packing.h"
#include "selection.h"

/* How long at least one of a probe's sites was in some state. */
struct spex_site_clock {
    uint32_t running; /* sites */
    uint64_t since;   /* ticks; while one is */
    uint64_t ticks;   /* before that, since spex_sites_time_begin */
};

/* What stays of a site when its library is gone. */
struct spex_site_info {
    struct spex_site *site; /* NULL once unloaded */
    char *name;             /* NULL: unnamed */
    char *file;
    char *parameters; /* KERNEL: as they are written, "n, m"; NULL: it has no such thing */
    uint32_t line;
    uint32_t subsample;
    uint32_t generation; /* 1 to SPEX_CONTROL_GENERATIONS; 0: it has never been on */
    uint16_t probe_id;
    uint16_t region;               /* that it stands in; 0: none */
    uint16_t probe_type;           /* 0: no probe, but a region's own site */
    uint8_t detail;                /* PERFCNTR: which counter */
    uint8_t values;                /* that a record of it stores beside its weight */
    uint16_t probe;                /* the first site with this id and type: they make one probe; a
                                      region's: SPEX_MAX_SITES */
    uint16_t next;                 /* the next one of them; SPEX_MAX_SITES at the end */
    struct spex_sampling selected; /* what the selection gives it; of period 0: off */
    uint32_t
        slowed; /* the shortest period that the controller lets it have, 0: any; SPEX_SITE_HELD: none;
                         SPEX_SITE_PROBED */
    bool used;                     /* has been on since spex_sites_time_begin */
    struct spex_sampling sampling; /* now; off: what it was; in a region: what is wanted */
    uint32_t region_period;        /* in a region: the period that all of them have */
    /* Of the whole probe, in its first site: */
    struct spex_site_clock on;
    struct spex_site_clock recording; /* on, and not only probed */
};

/* The controller keeps a site off for a while, or has it probed only. */
#define SPEX_SITE_HELD   UINT32_MAX
#define SPEX_SITE_PROBED (UINT32_MAX - 1)

/* What is said of all sites of one probe together. */
struct spex_probe_state {
    uint32_t sites; /* that are loaded */
    uint32_t sites_on;
    uint32_t
        selected; /* the shortest period that the selection gives one of them; 0: none of them */
    bool by_hand; /* and it says that it is to be probed */
    bool used;    /* is on, or has been since spex_sites_time_begin */
    struct spex_sampling sampling;      /* of that with the shortest period now; period 0: off */
    struct spex_sampling sampling_last; /* or, while it is off, before */
    uint64_t on_ticks;                  /* at least one site was on */
    uint64_t probed_ticks; /* of these: none of them made records, as all were probed */
};

/* Sites registered so far, those of regions included, which are no probes; those below the count never change but for `site`, `generation`, `next` and what
 * follows it, which are for this module alone. */
uint32_t spex_sites_count(void);

/* Of probes. */
uint32_t spex_sites_of_probes(void);
uint32_t spex_sites_on(void);
uint32_t spex_sites_refused(void);

/* Index below spex_sites_count(). Safe in any thread, without a lock. */
const struct spex_site_info *spex_site_info(uint32_t index);

/* `first`: of the probe's sites, one whose `probe` is itself. `until`: ticks, up to which time is counted. */
struct spex_probe_state spex_probe_state(uint32_t first, uint64_t until);

/* A site's sampling, of period 0: off; whether it is loaded. */
struct spex_sampling spex_site_sampling(uint32_t index, bool *loaded);

/* Lets the probe's sites make a record every `period` executions at most, whatever the selection says, then at random;
 * 0: as the selection says; SPEX_SITE_HELD: none; SPEX_SITE_PROBED: none, but be probed. Holds until it is said again,
 * or the site has been off by selection. */
void spex_probe_slow(uint32_t first, uint32_t period);

/* Whether it is on, or has been since spex_sites_time_begin. */
bool spex_site_used(uint32_t index);

/* From here on the time that sites are on is counted, from nothing. */
void spex_sites_time_begin(void);

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

/* Replaces the selection, or adds to it when the new one is relative; takes over its contents in any
 * case, and applies it to all sites, those to come included. The number of sites on; -E2BIG or
 * -ENOMEM: all is as it was. */
int spex_sites_select(struct spex_selection selection);

/* Replaces what the process itself needs, whatever is selected: sites of which the selection says nothing go by it. Takes
 * over its contents. */
void spex_sites_need(struct spex_selection selection);

/* What is selected, as spex_selection_text. */
int spex_sites_selection(char *text, size_t size);

static inline bool spex_site_is_region(const struct spex_site_info *info) {
    return info->probe_type == 0;
}

/* Sites that are probed, probe by probe. */
struct spex_sites_probed {
    uint32_t changes; /* of the registry's, as of when it was filled in; 0: never */
    uint32_t count;
    uint16_t sites[SPEX_MAX_SITES];
};

/* Brings it up to date. Quick where nothing has changed. */
void spex_sites_probed(struct spex_sites_probed *probed);

/* Puts the probes' sites of all that is loaded now into `infos`, which has room for SPEX_MAX_SITES. Their
 * number. */
uint32_t spex_sites_loaded(const struct spex_site_info **infos);

/* Around fork, so that the child finds the registry whole; in the child all sites go off. */
void spex_sites_fork_prepare(void);
void spex_sites_fork_parent(void);
void spex_sites_fork_child(void);

/* In that child, once: takes the selection that its parent had away from the registry. To be freed. */
void spex_sites_inherit(struct spex_selection *selection);

#endif
