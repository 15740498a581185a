/* SPDX-License-Identifier: MIT */
/* Runs trials, one or several at a time, each on a thread of its own that waits for its program.
 * All functions are for the one thread that created the runner. */
#ifndef SPEX_EXPLORE_TRIAL_RUNNER_H
#define SPEX_EXPLORE_TRIAL_RUNNER_H

#include "explore/store/history.h"
#include "explore/trial/cpu_parts.h"
#include "explore/trial/trial_run.h"

struct spex_runner;

/* `setup` is copied, but not what it points to. Each place where a trial runs has a directory of
 * its own in setup->directory. setup->stop_fd is watched by spex_runner_wait. `parts` has the CPUs
 * of each place; NULL: one place, on all CPUs. */
int spex_runner_create(const struct spex_trial_setup *setup, const struct spex_cpu_parts *parts,
                       struct spex_runner **out, struct spex_error *error);

/* Ends the trials under way; their results are lost. */
void spex_runner_destroy(struct spex_runner *runner);

/* To be held in every call of the policy, since the trials' threads call its stop_run. NULL: there
 * are no such threads. */
void spex_runner_lock(struct spex_runner *runner);
void spex_runner_unlock(struct spex_runner *runner);

size_t spex_runner_running(const struct spex_runner *runner);
size_t spex_runner_places(const struct spex_runner *runner);

/* Runs a plan, which is copied, in a free place; there has to be one. `asked` and `told` are for
 * the trial. */
int spex_runner_start(struct spex_runner *runner, const struct spex_plan *plan, uint64_t asked,
                      uint64_t told, struct spex_error *error);

/* Fills all[], which has room for as many as there are places, with the plans under way. Returns
 * how many. */
size_t spex_runner_unfinished(const struct spex_runner *runner, struct spex_unfinished *all);

/* Readable when a trial has finished: then spex_runner_wait does not wait. */
int spex_runner_finished_fd(const struct spex_runner *runner);

/* Waits until a trial has finished, and returns 0 with the trial, which the caller frees. When
 * stop_fd becomes readable or a trial has an error, all trials are ended. Calls then return the
 * trials that had finished before, one by one, and after the last one -EINTR or the error. */
int spex_runner_wait(struct spex_runner *runner, struct spex_trial *trial,
                     struct spex_error *error);

#endif
