/* SPDX-License-Identifier: MIT */
/* What else runs on the machine during a trial: a stressor of stress-ng's. */
#ifndef SPEX_EXPLORE_TRIAL_LOAD_H
#define SPEX_EXPLORE_TRIAL_LOAD_H

#include "explore/trial/agent_filled.h"
#include "explore/trial/program.h"
#include "text/error.h"

/* In a trial's directory: where loads have their files. */
#define SPEX_TRIAL_LOADS "load"

/* Before the first trial: whether stress-ng is there and has the stressors. 0; -ENOENT; -EINVAL. */
int spex_load_check(const struct spex_agent *agent, struct spex_error *error);

/* Starts one of at least one worker. Its files are in `directory`; of `base` it has the
 * configuration's path, by which whatever it leaves can be found, and the CPUs. */
int spex_load_start(struct spex_program *program, const struct spex_load_filled *load,
                    const struct spex_launch *base, const char *directory,
                    struct spex_error *error);

/* What loads have left in their directory, and the directory. */
void spex_load_remove_files(const char *directory);

/* Whether all of its workers are at work. */
bool spex_load_runs(const struct spex_program *program, unsigned workers);

#endif
