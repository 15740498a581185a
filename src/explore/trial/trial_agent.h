/* SPDX-License-Identifier: MIT */
/* What is around the program in one trial: the space's setup before it, its loads beside it, its
 * teardown after it. */
#ifndef SPEX_EXPLORE_TRIAL_TRIAL_AGENT_H
#define SPEX_EXPLORE_TRIAL_TRIAL_AGENT_H

#include <poll.h>

#include "explore/trial/agent_filled.h"
#include "explore/trial/program.h"
#include "measure/trial.h"
#include "text/error.h"

/* Descriptors to wait for: the setup's output, and of each load output and end. */
#define SPEX_TRIAL_AGENT_FDS (1 + 2 * SPEX_AGENT_LOADS_MAX)

struct spex_trial_agent {
    const struct spex_agent *agent;
    struct spex_agent_filled filled;
    struct spex_launch base; /* the configuration's path, and the CPUs */
    int stop_fd;             /* readable: give up; -1 for none */
    char *load_directory;    /* NULL: no load has been started */
    struct spex_program setup;
    struct spex_program loads[SPEX_AGENT_LOADS_MAX];
};

/* Fills in the templates; `base` is copied. 0; 1 when the trial fails, as `error` says; -ENOMEM. To
 * be ended in any case. */
int spex_trial_agent_init(struct spex_trial_agent *around, const struct spex_space_file *file,
                          char *const *argv, const size_t *levels, const struct spex_launch *base,
                          int stop_fd, struct spex_error *error);

/* Setup, then loads, until they run. 0; 1 when the trial fails, as `error` says; -EINTR; or an error
 * of ours. `directory` is the trial's. */
int spex_trial_agent_begin(struct spex_trial_agent *around, const char *directory,
                           struct spex_error *error);

/* While the program runs: what to wait for, and what to do about it then, without waiting. 1 when
 * the trial fails, since a load has ended. */
void spex_trial_agent_fds(const struct spex_trial_agent *around, struct pollfd *fds);
int spex_trial_agent_step(struct spex_trial_agent *around, struct spex_error *error);

/* Once the program has ended: ends the loads, runs the teardown and kills what is left of all.
 * Tells the trial what loads have used, and of a teardown that failed. 0 or -ENOMEM. */
int spex_trial_agent_end(struct spex_trial_agent *around, struct spex_trial *trial);

#endif
