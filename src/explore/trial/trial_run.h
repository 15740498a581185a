/* SPDX-License-Identifier: MIT */
/* Runs one trial: setup, program, measurement, teardown. A failure of the program is an outcome,
 * not an error. */
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
    const char *directory; /* private; has the configuration and the socket */
    double ticks_per_second;
    int stop_fd;           /* readable: give up; -1 for none */
    const cpu_set_t *cpus; /* CPUs of the program; NULL: those of this process */
};

/* Runs plan->levels, with which `trial` has been initialised, and fills in the trial. 0 whatever
 * the program did; -EINTR when stop_fd became readable; -EAGAIN when the trial failed because this
 * process was held up, and is to be run again from its initialisation; or another negative errno
 * value. */
int spex_trial_run(const struct spex_trial_setup *setup, const struct spex_plan *plan,
                   struct spex_trial *trial, struct spex_error *error);

#endif
