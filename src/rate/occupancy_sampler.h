/* SPDX-License-Identifier: MIT */
/* The prober: looks from time to time which probed probes threads are executing. It runs in the
 * first collector, at random intervals, so that no rhythm of the program's is met. */
#ifndef SPEX_RATE_OCCUPANCY_SAMPLER_H
#define SPEX_RATE_OCCUPANCY_SAMPLER_H

#include <stdint.h>

#include "stats/occupancy.h"

#define SPEX_POLLING_HZ     100
#define SPEX_POLLING_HZ_MAX 1000

/* A collection begins: nothing has been seen yet. `frequency`: looks a second, on average, while
 * nobody asks for another. Not with the metrics locked. */
void spex_occupancy_sampler_begin(double frequency);

/* From the next look on; 0: as it was begun. The first collector alone. */
void spex_occupancy_sampler_set(double frequency);

/* The first collector has been around, and looks if it is time to. */
void spex_occupancy_sampler_pass(void);

/* How long that collector may sleep, in ns; UINT64_MAX: as long as it likes, since nothing is
 * probed. */
uint64_t spex_occupancy_sampler_wait(void);

/* CPU time that a look takes, and being around for it, in seconds; 0 where there was none yet.
 * The first collector alone. */
double spex_occupancy_sampler_cost(void);

/* The following under the metrics' lock. */

/* Looks now, once. */
void spex_occupancy_sampler_look(void);

/* What was seen of a probe since the beginning. `first`: its first site. */
struct spex_occupancy spex_occupancy_sampler_occupancy(uint32_t first);

#endif
