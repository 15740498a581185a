/* SPDX-License-Identifier: MIT */
/* Runs one trial: configure, run, watch, tear down. What the program does wrong is a result, not an
 * error. */
#ifndef SPEX_EXPLORE_TRIAL_TRIAL_RUN_H
#define SPEX_EXPLORE_TRIAL_TRIAL_RUN_H

#include <pthread.h>
#include <sched.h>

#include "explore/space/space.h"
#include "measure/trial.h"
#include "text/error.h"

struct spex_trial_setup {
    const struct spex_space_file *file;
    const struct spex_policy_ops *policy;
    void *policy_state;
    pthread_mutex_t *policy_lock; /* held in every call of the policy */
    char *const *argv;
    const char *directory; /* private; the configuration and the socket are made here */
    double ticks_per_second;
    int stop_fd;           /* readable: give up; -1 for none */
    const cpu_set_t *cpus; /* that the program may use; NULL: all that we may */
};

/* Runs plan->levels, which `trial` has been initialised with, and fills it in. 0 whatever the
 * program did; -EINTR when stop_fd became readable; -EAGAIN when the trial failed because we were
 * held up, and is to be run again, from its initialisation; or what went wrong on our side. */
int spex_trial_run(const struct spex_trial_setup *setup, const struct spex_plan *plan,
                   struct spex_trial *trial, struct spex_error *error);

#endif
