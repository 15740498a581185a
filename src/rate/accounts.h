/* SPDX-License-Identifier: MIT */
/* The controller's accounts: the cost of probes and collectors so far, from the records of each
 * type and the executions of each probe. Called by the first collector, under the metrics' lock. */
#ifndef SPEX_RATE_ACCOUNTS_H
#define SPEX_RATE_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* Seconds for an execution without a record, and the additional seconds for a record, by
 * calibration. False, and both 0: not known, as is the length of a tick in the first
 * milliseconds. */
bool spex_accounts_type_costs(uint32_t type, double *skip, double *report);

/* The same costs of a probe with its present period: where that is more than 1, chance chooses its
 * records, which costs more. `first`: its first site. */
bool spex_accounts_calibrated_costs(uint32_t first, double *skip, double *report);

/* The same, corrected by what experiments have found. */
bool spex_accounts_probe_costs(uint32_t first, double *skip, double *report);

/* Returns a record of the probe as a multiple of a record of its type. */
double spex_accounts_record_factor(uint32_t first);

/* Accounts for the time from the last call to `ns` (CLOCK_MONOTONIC), and updates the budget. The
 * cost of executions without a record is extrapolated until they are counted again. */
void spex_accounts_advance(uint64_t ns);

/* Counts executions, and replaces the extrapolated cost of those without a record in the last
 * `seconds` by the real one. Takes time in proportion to threads times sites. */
void spex_accounts_count_executions(double seconds);

/* Updates how many CPUs the program keeps busy. */
void spex_accounts_note_cpus(void);

/* Updates what collectors cost per record, and without records. */
void spex_accounts_note_collecting(void);

#endif
