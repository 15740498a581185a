/* SPDX-License-Identifier: MIT */
/* The controller's accounts: what probes and collectors have cost, by the records of each type
 * and by the executions of each probe. Under the metrics' lock. */
#ifndef SPEX_RATE_ACCOUNTS_H
#define SPEX_RATE_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* Seconds for an execution that makes no record, and how much more one that makes one takes.
 * False: not known, nor how long a tick is in the first milliseconds; then they are 0. */
bool spex_accounts_type_costs(uint32_t type, double *skip, double *report);

/* The same of a probe, with what experiments have found. `first`: its first site. */
bool spex_accounts_probe_costs(uint32_t first, double *skip, double *report);

/* Accounts for what was spent since the last time, and brings the budget up to `ns`: now, of
 * CLOCK_MONOTONIC. What executions without a record cost is taken to go on as it was. */
void spex_accounts_advance(uint64_t ns);

/* Counts executions, and corrects what those without a record were taken to cost in the last
 * `seconds`. */
void spex_accounts_count_executions(double seconds);

/* How many CPUs the program keeps busy. */
void spex_accounts_note_cpus(void);

/* What collectors cost a record, and without any. */
void spex_accounts_note_collecting(void);

#endif
