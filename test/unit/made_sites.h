/* SPDX-License-Identifier: MIT */
/* The library's sites are those that the test has in `infos`, of which there are SITES. To be
 * included behind them. */
#ifndef SPEX_TEST_MADE_SITES_H
#define SPEX_TEST_MADE_SITES_H

uint32_t spex_sites_count(void) {
    return SITES;
}

/* As if no site were a region. */
static bool sites_without_regions;

uint32_t spex_sites_of_probes(void) {
    uint32_t count = 0;
    if (sites_without_regions)
        return SITES;
    for (uint32_t i = 0; i < SITES; i++)
        count += infos[i].probe != SPEX_MAX_SITES;
    return count;
}

const struct spex_site_info *spex_site_info(uint32_t index) {
    assert_true(index < SITES);
    return &infos[index];
}

uint32_t spex_profile_next_probe(uint32_t index) {
    while (index < SITES && infos[index].probe != index)
        index++;
    return index;
}

#endif
