/* SPDX-License-Identifier: MIT */
/* Quick solutions of the problem of hybrid_search.h. */
#ifndef SPEX_POLICIES_RATE_HYBRID_START_H
#define SPEX_POLICIES_RATE_HYBRID_START_H

#include "policies/rate/hybrid_search.h"

/* Marks the best of the solutions that are quick to find. False when none is allowed. */
bool spex_hybrid_start(struct spex_hybrid *hybrid);

/* For a fixed sampling frequency of `probing` Hz, the best candidates to trace are a knapsack of
 * capacity max_f - probing, where a candidate is worth what tracing tells beyond sampling. Brings
 * to the front of the items those that the continuous knapsack takes whole; returns their number.
 * *count is the number of all items. */
size_t spex_hybrid_fill(struct spex_hybrid *hybrid, double probing, size_t *count);

#endif
