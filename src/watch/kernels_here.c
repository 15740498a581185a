/* SPDX-License-Identifier: MIT */
#include "kernels_here.h"

#include <spex/probe.h>

#include "../sites.h"

static bool node_known(const void *by, uint64_t number, struct spex_context_node *node) {
    (void)by;
    return spex_context_node(number, node);
}

static bool site_known(const void *by, uint16_t kernel, const char **name,
                       const char **parameters) {
    (void)by;
    for (uint32_t s = 0; s < spex_sites_count(); s++) {
        const struct spex_site_info *info = spex_site_info(s);
        if (info->probe_id != kernel || info->probe_type != SPEX_KERNEL)
            continue;
        *name = info->name;
        *parameters = info->parameters;
        return true;
    }
    return false;
}

const struct spex_kernels_known spex_kernels_here = {.node = node_known, .site = site_known};
