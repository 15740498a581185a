/* SPDX-License-Identifier: MIT */
/* When the controller runs experiments (experiment.h), and how it uses their findings. Called by
 * the first collector, under the metrics' lock. */
#ifndef SPEX_RATE_EXPERIMENTS_H
#define SPEX_RATE_EXPERIMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the next decision is urgent: so much has been spent since the last one, in debt or of
 * what was saved, that it is worth what a decision takes. */
bool spex_experiments_rush(void);

/* Whether the budget is overdrawn: decisions are to come soon, but only if they can be paid for. */
bool spex_experiments_overdrawn(void);

/* Continues the session; ends it when a decision is urgent. True: there is a session or has just
 * been one, so that nothing is to be decided. */
bool spex_experiments_pass(void);

/* A slice of the probe with the first site `first` begins (`on`), or ends. Takes over what is found
 * by what the program has done since. */
void spex_experiments_slice(uint32_t first, bool on);

/* After a decision: may begin a session with the probes of the first `classes` classes that are
 * on. */
void spex_experiments_begin(size_t classes);

#endif
