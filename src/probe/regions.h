/* SPDX-License-Identifier: MIT */
/* Regions (spex/region.h) whose passes execute more probes than was declared. Probes notice it, and
 * a collector reports it, since a signal handler could not. */
#ifndef SPEX_PROBE_REGIONS_H
#define SPEX_PROBE_REGIONS_H

/* What has not been told yet. One thread at a time. */
void spex_regions_tell(void);

#endif
