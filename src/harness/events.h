/* SPDX-License-Identifier: MIT */
/* Which events are counted. */
#ifndef SPEX_HARNESS_EVENTS_H
#define SPEX_HARNESS_EVENTS_H

#include "harness/state.h"

/* Reads a list with commas of faults, switches, llc and names of libpfm4, and prepares their
 * counters. NULL: none. 0; or a negative errno value with a line on standard error: one of them
 * cannot be counted here, or there are too many. */
int spex_bench_events_take(struct spex_bench_events *events, const char *list);

#endif
