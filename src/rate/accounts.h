/* SPDX-License-Identifier: MIT */
/* The controller's accounts: the cost of probes and collectors so far, from the records of each
 * type and the executions of each probe. Called by the first collector, under the metrics' lock. */
#ifndef SPEX_RATE_ACCOUNTS_H
#define SPEX_RATE_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rate/experiment/finding.h"

/* Seconds for an execution without a record, and the additional seconds for a record, by
 * calibration. False, and both 0: not known, as is the length of a tick in the first
 * milliseconds. */
bool spex_accounts_type_costs(uint32_t type, double *skip, double *report);

/* The same costs of a probe with its present period: where that is more than 1, chance chooses its
 * records, which costs more. `first`: its first site. */
bool spex_accounts_calibrated_costs(uint32_t first, double *skip, double *report);

/* Seconds that an execution costs more by calibration where executions call the library
 * (SPEX_SITE_CALLED); 0: not known. */
double spex_accounts_call_cost(void);

/* The same as if chance chose the probe's records. */
bool spex_accounts_costs_drawn(uint32_t first, double *skip, double *report);

/* The costs of spex_accounts_calibrated_costs, corrected by what experiments have found. */
bool spex_accounts_probe_costs(uint32_t first, double *skip, double *report);

/* What plans go by: the same, and more by the error of what experiments have found, or as long as
 * they have found nothing, since executions beside cache misses cost several times what was
 * calibrated. The latter is given up in the end, as there may be no witness. */
bool spex_accounts_careful_costs(uint32_t first, double *skip, double *report);

/* Seconds from when a probe was switched on after which there is no such caution. */
#define SPEX_CAUTION_SECONDS 1.05

/* Returns a record of the probe as a multiple of a record of its type. */
double spex_accounts_record_factor(uint32_t first);

/* Accounts for the time from the last call to `ns` (CLOCK_MONOTONIC), and updates the budget by the
 * CPU time that the program has used in it. The cost of executions without a record is extrapolated until they are counted again. */
void spex_accounts_advance(uint64_t ns);

/* Books CPU time that a thread of the program has spent on spex. */
void spex_accounts_charge(uint64_t ns);

/* Counts executions, and replaces the extrapolated cost of those without a record in the last
 * `seconds` by the real one. Takes time in proportion to threads times sites. */
void spex_accounts_count_executions(double seconds);

/* Counts what all probes and groups have executed so far. */
void spex_accounts_count_all(void);

/* Counts what the groups have executed, by the executions of spex_metrics_executions, and sets
 * those at the groups' indices. */
void spex_groups_count(uint64_t *executions);

/* Returns what the group's executions without a record have cost since the last call, in
 * seconds. */
double spex_groups_spent(uint32_t group);

/* The costs of a group as spex_accounts_calibrated_costs tells those of a probe. */
bool spex_groups_costs(uint32_t group, double *skip, double *report);

/* Returns the next probe of the group at or after `index` that is or was on; spex_sites_count() at
 * the end. */
uint32_t spex_groups_next(uint32_t group, uint32_t index);

/* Returns the part of what the probe or group executes that can make records: not passes. */
double spex_groups_recorded(uint32_t index);

/* Sums over what is expected of a second: records, their cost as a multiple of the calibrated one,
 * and the cost of executions without a record. */
struct spex_groups_expected {
    double records, sum, skipping;
};

/* Adds those of a group, which makes a record of `records` of its executions and has this factor.
 * By types (spex_probe_type_ring). */
void spex_groups_expect(uint32_t group, double records, double factor, double skipping,
                        struct spex_groups_expected *by_ring);

/* Updates what records of each type cost on average, and what executions without a record they
 * stand for, by the first `count` classes of a decision. */
void spex_accounts_expect(size_t count);

/* Chooses the threads that tell the program's progress: all while there are not too many, so that
 * one that has come is noticed, otherwise others from time to time. Returns whether these are
 * all. */
bool spex_accounts_choose_threads(void);

/* Returns the part of all threads that they are. */
double spex_accounts_part_chosen(void);

/* Reads what the chosen threads have done. Where these are all, their executions must have been
 * counted. */
void spex_accounts_read_progress(struct spex_progress *progress);

/* Updates how many CPUs the program keeps busy. */
void spex_accounts_note_cpus(void);

/* Updates what collectors cost per record, and without records. */
void spex_accounts_note_collecting(void);

/* CPU seconds that a decision costs, with the pass in which it is made. */
double spex_accounts_decision_cost(void);

/* Nothing of what has happened so far is booked: the budget begins now, long after the
 * collection. */
void spex_accounts_from_now(void);

#endif
