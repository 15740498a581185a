/* SPDX-License-Identifier: MIT */
/* PROBES sites of CNT, which are on, each of a probe of its own. The test defines PROBES. */
#ifndef SPEX_TEST_COUNTED_SITES_H
#define SPEX_TEST_COUNTED_SITES_H

#include <spex/record.h>
#include <spex/site.h>

#include "site/registry.h"
#include "site/selection/selection.h"

static const char name_text[] = "counted_sites.h";
static struct spex_site sites[PROBES];

static inline int enter(void **state) {
    (void)state;
    for (unsigned p = 0; p < PROBES; p++)
        sites[p] =
            (struct spex_site){.subsample = 1,
                               .line = p,
                               .probe_id = (uint16_t)(p + 1),
                               .type_number = SPEX_TYPE_NUMBER_(SPEX_CNT),
                               .file_offset = name_text - (const char *)&sites[p].file_offset};
    spex_module_register(sites, sites + PROBES, NULL, NULL);
    struct spex_selection selection;
    struct spex_error error;
    return spex_selection_parse("*", &selection, &error) || spex_sites_select(selection) != PROBES;
}

static inline int leave(void **state) {
    (void)state;
    spex_module_unregister(sites);
    return 0;
}

static inline uint32_t first_of(unsigned p) {
    return spex_site_info(sites[p].index)->probe;
}

#endif
