/* SPDX-License-Identifier: MIT */
/* What tests of regions ask of the registry. */
#ifndef SPEX_TEST_REGION_SITES_H
#define SPEX_TEST_REGION_SITES_H

#include "../check.h"
#include "site/registry.h"

/* The first site of the probe. */
static inline uint32_t index_of(unsigned id) {
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        if (!spex_site_is_region(spex_site_info(i)) && spex_site_info(i)->probe_id == id)
            return i;
    fail();
    return 0;
}

#endif
