/* SPDX-License-Identifier: MIT */
/* How often a probe executes, by what was counted since the last look. Called by the first
 * collector, under the metrics' lock. */
#ifndef SPEX_RATE_FREQUENCY_H
#define SPEX_RATE_FREQUENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "rate/controller_state.h"

/* Seconds between decisions. The second holds while the budget is overdrawn, or a probe is on for a
 * trial, which may cost more than all saved tokens. */
#define SPEX_DECISION_SECONDS      0.1
#define SPEX_DECISION_SECONDS_RUSH 0.002

/* Measures the frequency from the executions since the last measurement; `count`: all so far.
 * False: the time is too short for so few executions, or a slice of the time goes on. */
bool spex_frequency_measure(uint32_t first, struct spex_controlled *probe, uint64_t count);

#endif
