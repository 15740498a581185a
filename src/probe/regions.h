/* SPDX-License-Identifier: MIT */
/* Reports regions (spex/region.h) whose passes execute more probes than the region declares. The
 * program's threads notice this, also in signal handlers, which cannot write a message. A collector
 * therefore reports it. */
#ifndef SPEX_PROBE_REGIONS_H
#define SPEX_PROBE_REGIONS_H

/* Writes one line for each region that has such passes and was not reported before. One thread at a
 * time. Without anything new this is one load. */
void spex_regions_tell(void);

#endif
