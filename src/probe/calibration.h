/* SPDX-License-Identifier: MIT */
/* Measures what probes cost on this machine (cost.h). */
#ifndef SPEX_PROBE_CALIBRATION_H
#define SPEX_PROBE_CALIBRATION_H

#include <stdint.h>

/* Measures the costs of a type, unless they are known already, and stores them with spex_cost_set.
 * Takes about 0.1 ms, or more where reading the type's counter is slow. `detail` is the
 * number of a performance counter; its cost is taken for all counters of PERFCNTR. One caller at a
 * time. */
void spex_calibrate(uint32_t type, unsigned detail);

/* The same for what regions cost, which is stored with spex_cost_region_set. */
void spex_calibrate_region(void);

#endif
