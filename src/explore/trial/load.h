/* SPDX-License-Identifier: MIT */
/* Runs a load beside the program during a trial: a stressor of stress-ng. */
#ifndef SPEX_EXPLORE_TRIAL_LOAD_H
#define SPEX_EXPLORE_TRIAL_LOAD_H

#include "explore/trial/agent_filled.h"
#include "explore/trial/program.h"
#include "text/error.h"

/* The directory of the loads' files, in a trial's directory. */
#define SPEX_TRIAL_LOADS "load"

/* Checks, before the first trial, that stress-ng is installed and has the stressors. 0; -ENOENT;
 * -EINVAL. */
int spex_load_check(const struct spex_agent *agent, struct spex_error *error);

/* Starts a load with at least one worker. Its temporary files are in `directory`. Of `base`, the
 * CPUs are used, and the configuration's path, by which leftover processes are found. */
int spex_load_start(struct spex_program *program, const struct spex_load_filled *load,
                    const struct spex_launch *base, const char *directory,
                    struct spex_error *error);

/* Removes the loads' directory with all files in it. */
void spex_load_remove_files(const char *directory);

/* Returns whether all of its workers have begun. */
bool spex_load_runs(const struct spex_program *program, unsigned workers);

#endif
