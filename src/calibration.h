/* SPDX-License-Identifier: MIT */
/* What probes cost on this machine, as measured in this process. */
#ifndef SPEX_CALIBRATION_H
#define SPEX_CALIBRATION_H

#include <spex/spex.h>

/* Measures a type, once, on rings of its own: less than a millisecond, more where reading its counter
 * is slow. `detail`: the performance counter of PERFCNTR, which is taken for all of them. One caller
 * at a time. */
void spex_calibrate(uint32_t type, unsigned detail);

/* Ticks of an execution that is published for the prober, BEGIN and END together, of whatever type; 0: it has not been
 * measured. Any thread. */
double spex_cost_probed(void);

#endif
