/* SPDX-License-Identifier: MIT */
/* The occupancy sampler: counts at random times which threads execute each polled probe
 * (stats/occupancy.h). It runs in the first collector. Intervals are random, so that looks are not
 * in step with a period of the program. */
#ifndef SPEX_RATE_OCCUPANCY_SAMPLER_H
#define SPEX_RATE_OCCUPANCY_SAMPLER_H

#include <stdint.h>

#include "stats/occupancy.h"

/* Looks a second: the default, and the most. */
#define SPEX_POLLING_HZ     100
#define SPEX_POLLING_HZ_MAX 1000

/* A collection begins: forgets all looks. `frequency` is the mean number of looks a second until
 * spex_occupancy_sampler_set() sets another. Takes the metrics' lock. */
void spex_occupancy_sampler_begin(double frequency);

/* Forgets what was seen. */
void spex_occupancy_sampler_end(void);

/* Sets the frequency from the next look on; 0: the frequency at the beginning. The first collector
 * alone. */
void spex_occupancy_sampler_set(double frequency);

/* Looks if a look is due. The first collector alone, after each pass. */
void spex_occupancy_sampler_pass(void);

/* Nanoseconds until the next look is due; UINT64_MAX: nothing is polled. The first collector
 * alone. */
uint64_t spex_occupancy_sampler_wait(void);

/* CPU time of a look and of the collector's pass that it needs, in seconds; 0 before the first
 * look. The first collector alone. */
double spex_occupancy_sampler_cost(void);

/* The following under the metrics' lock. */

/* Looks once, now. */
void spex_occupancy_sampler_look(void);

/* The looks at a probe since the beginning. `first`: its first site. */
struct spex_occupancy spex_occupancy_sampler_occupancy(uint32_t first);

#endif
