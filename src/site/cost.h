/* SPDX-License-Identifier: MIT */
/* What executions of probes cost in this process, by type, in ticks. calibration.c measures the
 * costs. spex_cost_get (spex/spex.h) returns them; any thread may call it. */
#ifndef SPEX_SITE_COST_H
#define SPEX_SITE_COST_H

#include <stdint.h>

#include <spex/spex.h>

/* Returns the mask of the types whose costs have been set. Any thread. */
uint32_t spex_costs_known(void);

/* Sets the cost of a type, once for each type. One caller at a time. */
void spex_cost_set(uint32_t type, const struct spex_cost *cost);

/* What a span of nothing reads, in ticks: on average, and by how much single readings differ from
 * that (standard deviation). 0: not measured, or the type measures no time. */
struct spex_empty_span {
    double ticks;
    double error;
};

/* Sets what an empty span of a type reads. Must be called before the type's cost is set. */
void spex_cost_empty_set(uint32_t type, struct spex_empty_span empty);

/* Returns what an empty span of the type reads. Any thread. */
struct spex_empty_span spex_cost_empty(uint32_t type);

/* Sets what spex_cost_drawn returns. Must be called before the type's cost is set. */
void spex_cost_drawn_set(uint32_t type, double ticks);

/* Returns the ticks of an execution that makes a record because chance has chosen it, as it does
 * where a budget or the user's selection asks for random sampling: with the drawing of the next
 * gap, a few times those of a record that each execution makes. 0: not measured. Any thread. */
double spex_cost_drawn(uint32_t type);

/* Sets the value that spex_cost_polled returns. Must be called before the first type's cost is
 * set. */
void spex_cost_polled_set(double ticks);

/* Returns the ticks that an execution of a polled probe takes, BEGIN and END together, the same for
 * all types; 0: not measured. Any thread. */
double spex_cost_polled(void);

/* Sets the value that spex_cost_call returns. Must be called before the first type's cost is set.
 */
void spex_cost_call_set(double ticks);

/* Returns the ticks that an execution takes more with SPEX_SAMPLING_CALLED than one without a
 * record, on average, the same for all types; 0: not measured. Any thread. */
double spex_cost_call(void);

/* What a region costs, in ticks: a pass that calls no function of the library, an execution within
 * such a pass, and what a pass takes more that calls the library. */
struct spex_region_cost {
    double pass;
    double execution;
    double call;
};

/* Sets the cost of regions, once. One caller at a time. */
void spex_cost_region_set(const struct spex_region_cost *cost);

/* Returns it; all 0: not measured. Any thread. */
struct spex_region_cost spex_cost_region(void);

/* Sets what an execution of the site costs at its rate, in ticks, records included; 0: it is
 * off, or not counted. With the registry's lock held. */
void spex_cost_of_site_set(uint32_t site, double ticks);

/* Returns it. Any thread. */
double spex_cost_of_site(uint32_t site);

#endif
