/* SPDX-License-Identifier: MIT */
/* Before an exploration: whether the command can be measured at all, how long a run takes and how
 * much two runs of the same configuration differ. */
#ifndef SPEX_TOOLS_EXPLORE_FIRST_RUNS_H
#define SPEX_TOOLS_EXPLORE_FIRST_RUNS_H

#include <stdint.h>

#include "explore/space/space.h"
#include "text/error.h"

/* Runs the default configuration two or three times. `limit`: the seconds that there are for all;
 * 0: no limit. *trials: how many more runs fit into what is left of it, as far as can be told; 0
 * without a limit. `text` gets a line for the user. 0; -EINVAL when the command fails, with the
 * reason; -EINTR when stop_fd became readable; or another negative errno value. */
int spex_first_runs(const struct spex_space_file *file, char *const *argv, int stop_fd,
                    double limit, uint64_t *trials, char *text, size_t size,
                    struct spex_error *error);

#endif
