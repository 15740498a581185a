/* SPDX-License-Identifier: MIT */
/* Control words: the sampling of a site in the form that the probe's inline code reads
 * (spex/site.h has the bits). Only control_word.c writes them. The caller of every function that
 * changes a site holds the registry's lock. */
#ifndef SPEX_SITE_CONTROL_WORD_H
#define SPEX_SITE_CONTROL_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/site.h>

#include "ring/probe_type.h"
#include "site/site_info.h"

struct spex_module;

/* Returns whether a site with this control word makes records. */
static inline bool spex_control_records(uint32_t control) {
    return control & SPEX_CONTROL_PERIOD_MASK;
}

/* Returns whether a site with this control word is polled (SPEX_SAMPLING_POLLING): it is on and
 * makes no records. */
static inline bool spex_control_polled(uint32_t control) {
    return control && !spex_control_records(control);
}

/* Switches the site off. Its selection and the controller's period stay. */
void spex_control_clear(struct spex_site_info *info);

/* Sets the site's sampling from its selection and from the controller's period. Before a site goes
 * on, its type is prepared, which may take some milliseconds. */
void spex_control_update(struct spex_site_info *info);

/* Returns whether the site is the END of a SPAN, which is selected with its BEGINs. */
static inline bool spex_control_ends_span(const struct spex_site_info *info) {
    return spex_probe_type_ends_span(info->probe_type, info->detail);
}

/* Selects the ENDs of SPANs, after their BEGINs. */
void spex_control_select_span_ends(void);

/* Call spex_control_update for all sites, and for those of a probe, in an order in which no span
 * begins whose END is off. */
void spex_control_update_all(void);
void spex_control_update_probe(uint32_t first);

/* Gives each region of the module the shortest period of its probes that are on; switches a region
 * without such probes off. To be called after changes of sites. */
void spex_control_set_regions(const struct spex_module *module);

/* Does the same in all modules. */
void spex_control_set_all_regions(void);

#endif
