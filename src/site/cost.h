/* SPDX-License-Identifier: MIT */
/* What probes cost in this process, by type. calibration.c measures it; spex_cost_get (spex/spex.h)
 * reads it in any thread. */
#ifndef SPEX_SITE_COST_H
#define SPEX_SITE_COST_H

#include <stdint.h>

#include <spex/spex.h>

/* Mask of the types whose costs have been set. */
uint32_t spex_costs_known(void);

/* Sets the type's cost. One caller at a time. */
void spex_cost_set(uint32_t type, const struct spex_cost *cost);

/* Sets what spex_cost_polled returns, before the first type's cost is set. */
void spex_cost_polled_set(double ticks);

/* Ticks of an execution of any type that is published for the prober, BEGIN and END together; 0:
 * not measured. Any thread. */
double spex_cost_polled(void);

#endif
