/* SPDX-License-Identifier: MIT */
/* A trial of a command without probes: it is run once, to its end, and measured from outside. */
#ifndef SPEX_EXPLORE_TRIAL_COMMAND_TRIAL_H
#define SPEX_EXPLORE_TRIAL_COMMAND_TRIAL_H

#include "explore/trial/trial_run.h"

/* spex_trial_run for a space of a command (measure/criterion.h). */
int spex_trial_run_command(const struct spex_trial_setup *setup, const struct spex_plan *plan,
                           struct spex_trial *trial, struct spex_error *error);

#endif
