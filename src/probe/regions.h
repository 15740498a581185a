/* SPDX-License-Identifier: MIT */
/* Reports regions (spex/region.h) whose passes execute more probes than the region declares. The
 * program's threads notice this, also in signal handlers, which cannot write a message. A collector
 * therefore reports it. */
#ifndef SPEX_PROBE_REGIONS_H
#define SPEX_PROBE_REGIONS_H

#include <stdint.h>

/* Writes one line for each region that has such passes and was not reported before. One thread at a
 * time. Without anything new this is one load. */
void spex_regions_tell(void);

/* Passes through a region by all threads since the process began: an estimate, since passes that do
 * not call the library are not counted, and the number of those that do, which wraps round. */
struct spex_region_passes {
    double passes;
    uint32_t calls;
};

/* `site`: the index of the region's site. Any thread. */
struct spex_region_passes spex_region_passes(uint32_t site);

/* Estimate of the executions of a site in a region, and its variance: by those that were chosen for
 * a record, whatever becomes of the record. */
struct spex_region_executions {
    double count, variance;
};

/* Of all threads since the process began. `site`: the index of a probe's site. Any thread. */
struct spex_region_executions spex_region_executions(uint32_t site);

#endif
