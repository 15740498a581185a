/* SPDX-License-Identifier: MIT */
#include "probe_state.h"

#include "sites.h"

uint32_t spex_profile_next_probe(uint32_t index) {
    uint32_t count = spex_sites_count();
    for (; index < count; index++) {
        if (spex_site_info(index)->probe != index)
            continue;
        struct spex_probe_state state = spex_probe_state(index, 0);
        if (state.used)
            break;
    }
    return index;
}
