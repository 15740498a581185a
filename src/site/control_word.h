/* SPDX-License-Identifier: MIT */
/* Control words: the sampling of a site as the probe's code reads it. control_word.c alone writes
 * them. The caller of these functions holds the registry's lock. */
#ifndef SPEX_SITE_CONTROL_WORD_H
#define SPEX_SITE_CONTROL_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/site.h>

struct spex_module;
struct spex_site_info;

/* A site with such a control word makes records. */
static inline bool spex_control_records(uint32_t control) {
    return control & SPEX_CONTROL_PERIOD_MASK;
}

/* A site with such a control word is probed: it is on and makes no records. */
static inline bool spex_control_polled(uint32_t control) {
    return control && !spex_control_records(control);
}

/* Switches the site off. */
void spex_control_clear(struct spex_site_info *info);

/* Gives the site what its selection and the controller come to. */
void spex_control_update(struct spex_site_info *info);

/* Gives each region of the module the shortest period of its probes that are on. */
void spex_control_set_regions(const struct spex_module *module);

/* The same, in all modules. */
void spex_control_set_all_regions(void);

#endif
