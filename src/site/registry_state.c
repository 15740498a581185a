/* SPDX-License-Identifier: MIT */
#include "site/registry_state.h"

#include <spex/site.h>

#include "ring/probe_type.h"

/* All zero, so that it takes no room in programs' files. */
struct spex_registry spex_registry = {.lock = SPEX_LOCK_FREE};
uint32_t spex_site_switched[SPEX_MAX_SITES + 1];

uint8_t spex_site_values(const struct spex_site *site) {
    switch (spex_site_type_(site)) {
    case 0:
        return 0;
    case SPEX_SNAPSHOT:
        return site->detail;
    case SPEX_KERNEL:
        return (uint8_t)(SPEX_KERNEL_VALUES + site->detail);
    default:
        return (uint8_t)spex_probe_type_values(spex_site_type_(site));
    }
}
