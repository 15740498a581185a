/* SPDX-License-Identifier: MIT */
/* Runs the commands, services and loads of a space for one trial: the setup before the program, the
 * services and loads beside it, the teardown after it. */
#ifndef SPEX_EXPLORE_TRIAL_TRIAL_AGENT_H
#define SPEX_EXPLORE_TRIAL_TRIAL_AGENT_H

#include <poll.h>

#include "explore/trial/agent_filled.h"
#include "explore/trial/program.h"
#include "measure/trial.h"
#include "measure/usage.h"
#include "text/error.h"

/* Descriptors to wait for: the output of the setup, and output and end of each service and load. */
#define SPEX_TRIAL_AGENT_FDS (1 + 2 * SPEX_AGENT_SERVICES_MAX + 2 * SPEX_AGENT_LOADS_MAX)

struct spex_trial_agent {
    const struct spex_agent *agent;
    struct spex_agent_filled filled;
    struct spex_launch base; /* the configuration's path and the CPUs */
    int stop_fd;             /* readable: give up; -1 for none */
    char *load_directory;    /* NULL: no load was started */
    struct spex_program setup;
    struct spex_program services[SPEX_AGENT_SERVICES_MAX];
    struct spex_program loads[SPEX_AGENT_LOADS_MAX];
};

/* Fills in the templates; `base` is copied. 0; 1 when the trial fails, with the reason in `error`;
 * -ENOMEM. To be ended in any case. */
int spex_trial_agent_init(struct spex_trial_agent *around, const struct spex_space_file *file,
                          char *const *argv, const size_t *levels, const struct spex_launch *base,
                          int stop_fd, struct spex_error *error);

/* Runs the setup, starts the services and waits until they are ready, then starts the loads and waits
 * for their workers. `directory` is the trial's. 0;
 * 1 when the trial fails, with the reason in `error`; -EINTR; or another negative errno value. */
int spex_trial_agent_begin(struct spex_trial_agent *around, const char *directory,
                           struct spex_error *error);

/* While the program runs: the descriptors to wait for, and what to do when one is ready, without
 * waiting. 1 when the trial fails because a service or a load has ended. */
void spex_trial_agent_fds(const struct spex_trial_agent *around, struct pollfd *fds);
int spex_trial_agent_step(struct spex_trial_agent *around, struct spex_error *error);

/* After the program's end: runs a command, and takes the last number of its standard output. 0; 1
 * when the trial fails, with the reason in `error`; -EINTR; or another negative errno value. */
int spex_trial_agent_measure(struct spex_trial_agent *around, const char *command, double timeout,
                             double *number, struct spex_error *error);

/* What the services have used of a resource, all together, once they have ended; NaN: it is not
 * known. Of a configuration without services that is nothing. */
double spex_trial_agent_used(const struct spex_trial_agent *around, enum spex_resource resource);

/* After the program's end: ends the loads and services, runs the teardown and kills what is left of all. Stores
 * the use of resources by these in the trial, and a failed teardown in its note. 0 or -ENOMEM. */
int spex_trial_agent_end(struct spex_trial_agent *around, struct spex_trial *trial);

#endif
