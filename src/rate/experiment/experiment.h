/* SPDX-License-Identifier: MIT */
/* Experiments: measure what probes really cost this program. A session switches a group of probes,
 * the dearest by calibration, off and on for some milliseconds at a time in random order. Another
 * probe, the witness, whose executions stay counted, measures the program's progress per CPU time.
 * Calibration measures a probe in a loop of its own; in a program whose instructions overlap with
 * cache misses an execution may cost several times as much.
 *
 * Where no other probe can be the witness, the dearest is its own. Where its records cost more than
 * its executions, it has a longer period instead of being off; else executions call the library
 * (SPEX_SITE_CALLED) where it would be on. Both are taken to cost as many times what was
 * calibrated.
 *
 * Called by the first collector's thread alone. Times are in seconds of one clock of the caller. */
#ifndef SPEX_RATE_EXPERIMENT_EXPERIMENT_H
#define SPEX_RATE_EXPERIMENT_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rate/experiment/finding.h"

/* A collection begins: forgets all findings. */
void spex_experiment_reset(uint64_t seed);

/* Begins a session if there is reason for one. `share`: seconds a second that all probes may take.
 * `part`: that of spex_progress. False: no session has begun. */
bool spex_experiment_begin(const struct spex_subject *subjects, size_t count, double share,
                           double part, double now);

bool spex_experiment_running(void);

/* Seconds until the next step is due, while a session runs. */
double spex_experiment_due(double now);

/* Ends a slice if it is over, and begins the next. True: the session is over, all its probes are
 * on, and *finding is the result; its `count` is 0 where there is none. */
bool spex_experiment_step(double now, const struct spex_progress *progress,
                          struct spex_finding *finding);

/* Whether the last session has held probes off or had fewer records made, so that all is to be
 * measured anew. */
bool spex_experiment_saved(void);

/* Returns the seconds of CPU time, by calibration, that the last session has cost beyond what its
 * probe costs while it is on, by the threads that tell the progress. *first: that probe. */
double spex_experiment_extra(uint32_t *first);

/* No session begins before `until`. */
void spex_experiment_rest(double until);

/* Ends the session without a finding. */
void spex_experiment_abort(double now);

#endif
