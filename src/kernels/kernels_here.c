/* SPDX-License-Identifier: MIT */
#include "kernels/kernels_here.h"

#include "site/registry.h"

static bool node_known(const void *by, uint64_t number, struct spex_context_node *node) {
    (void)by;
    return spex_context_node(number, node);
}

/* Linear in the number of sites. Callers keep the result for each context. */
uint32_t spex_kernels_here_site(uint16_t kernel) {
    uint32_t sites = spex_sites_count(), s = 0;
    while (s < sites &&
           !(spex_site_info(s)->probe_id == kernel && spex_site_info(s)->probe_type == SPEX_KERNEL))
        s++;
    return s;
}

static bool site_known(const void *by, uint16_t kernel, const char **name,
                       const char **parameters) {
    uint32_t site = spex_kernels_here_site(kernel);
    (void)by;
    if (site >= spex_sites_count())
        return false;
    *name = spex_site_info(site)->name;
    *parameters = spex_site_info(site)->parameters;
    return true;
}

const struct spex_kernels_known spex_kernels_here = {.node = node_known, .site = site_known};
