/* SPDX-License-Identifier: MIT */
/* What the controller does with one probe: it is recorded with a period, held off, on for a trial
 * after that, or polled. Called by the first collector, under the metrics' lock. */
#ifndef SPEX_RATE_MODES_H
#define SPEX_RATE_MODES_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/rate_policy.h>

#include "rate/controller_state.h"

/* Records a second that each probe gets, as far as it executes so often, before others get more. */
#define SPEX_RECORDS_LEAST 100.0

/* Sets the period of the probe with the first site `first` by the policy's decision. The period is
 * set again when it is the same: sites may have been switched off by selection in between, or
 * loaded since. Rings the doorbell when the probe was held off, since collectors sleep without a
 * time limit while no site is on. */
void spex_mode_apply(uint32_t first, const struct spex_rate_class *class,
                     const struct spex_rate_decision *decision);

/* Holds a probe off until its next slice: it is too dear even without records, so it is on for a
 * share of the time. The caller throttles the probe's sites. */
void spex_mode_hold(uint32_t first, struct spex_controlled *probe, const char *why);

/* Returns the seconds a second that the probe, which is on, likely costs by its last
 * measurement. */
double spex_mode_cost(uint32_t first, const struct spex_controlled *probe);

/* Notes that the probe's records are of slices no more. */
void spex_mode_leave_slices(uint32_t first, struct spex_controlled *probe);

/* Notes what the slice before the hold-off that is over has counted of the probe, or of each one in
 * the group. */
void spex_modes_note_slice(uint32_t index);

/* Counts a probe that is in slices, and costs so many seconds a second while it is on. Returns
 * whether that is more than an equal part of what those that cost less leave of the budget. */
bool spex_modes_note_sliced(double cost);

/* Returns the seconds a second of the budget that are kept for slices. */
double spex_modes_reserved(void);

/* Records a polled probe for a moment, with few records, to count its executions. */
void spex_mode_count_again(uint32_t first, struct spex_controlled *probe);

/* Has every execution make a record, which costs nothing where a probe does not execute. */
void spex_mode_record_all(uint32_t first, struct spex_controlled *probe);

#endif
