/* SPDX-License-Identifier: MIT */
/* Trials under way, one or several at a time, each in a thread of its own that waits for its
 * program. All functions are for one thread. */
#ifndef SPEX_EXPLORE_TRIAL_RUNNER_H
#define SPEX_EXPLORE_TRIAL_RUNNER_H

#include "explore/store/history.h"
#include "explore/trial/cpu_parts.h"
#include "explore/trial/trial_run.h"

struct spex_runner;

/* `setup` is copied but for what it points to; its directory is where each place at which a trial
 * runs gets one of its own, and its stop_fd is not looked at by the trials but by spex_runner_wait.
 * `parts` has one part for each place; NULL: one place, on all CPUs. */
int spex_runner_create(const struct spex_trial_setup *setup, const struct spex_cpu_parts *parts,
                       struct spex_runner **out, struct spex_error *error);

/* Ends what is running; results that have come by then are lost. */
void spex_runner_destroy(struct spex_runner *runner);

/* Around every call of the policy: a trial under way asks it, too. */
void spex_runner_lock(struct spex_runner *runner);
void spex_runner_unlock(struct spex_runner *runner);

size_t spex_runner_running(const struct spex_runner *runner);
size_t spex_runner_places(const struct spex_runner *runner);

/* Where a place is free: runs a plan, which is copied. */
int spex_runner_start(struct spex_runner *runner, const struct spex_plan *plan, uint64_t asked,
                      uint64_t told, struct spex_error *error);

/* The plans under way: into room for as many as there are places; how many. */
size_t spex_runner_unfinished(const struct spex_runner *runner, struct spex_unfinished *all);

/* Waits until one of the trials under way has finished. 0 with the trial, which is the caller's.
 * When stop_fd becomes readable, or something goes wrong on our side, all are ended; once none is
 * left that had finished by then, -EINTR or what went wrong. */
int spex_runner_wait(struct spex_runner *runner, struct spex_trial *trial,
                     struct spex_error *error);

#endif
