/* SPDX-License-Identifier: MIT */
#include "kernels/kernels_here.h"

#include <string.h>

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

static bool called_the_same(const struct spex_site_info *a, const struct spex_site_info *b) {
    return a->name && b->name ? strcmp(a->name, b->name) == 0
                              : !a->name && !b->name && a->id == b->id;
}

/* Whether a kernel of another provider is called the same. */
static bool is_ambiguous(const struct spex_site_info *kernel) {
    uint32_t sites = spex_sites_count();
    for (uint32_t s = 0; s < sites; s++) {
        const struct spex_site_info *other = spex_site_info(s);
        if (other->probe_type == SPEX_KERNEL && other->provider != kernel->provider &&
            called_the_same(other, kernel))
            return true;
    }
    return false;
}

static bool site_known(const void *by, uint16_t kernel, struct spex_kernel_site *site) {
    uint32_t at = spex_kernels_here_site(kernel);
    (void)by;
    if (at >= spex_sites_count())
        return false;
    const struct spex_site_info *info = spex_site_info(at);
    *site = (struct spex_kernel_site){.provider = is_ambiguous(info) ? info->provider : NULL,
                                      .name = info->name,
                                      .id = info->id,
                                      .parameters = info->parameters,
                                      .kinds = info->kinds};
    return true;
}

const struct spex_kernels_known spex_kernels_here = {.node = node_known, .site = site_known};
