/* SPDX-License-Identifier: MIT */
/* Measures what probes cost on this machine (cost.h). */
#ifndef SPEX_PROBE_CALIBRATION_H
#define SPEX_PROBE_CALIBRATION_H

#include <stdint.h>

/* Measures a type once, on rings of its own. Takes less than a millisecond, or more where reading
 * the type's counter is slow. `detail`: the number of a performance counter, whose cost is taken
 * for all of PERFCNTR. One caller at a time. */
void spex_calibrate(uint32_t type, unsigned detail);

#endif
