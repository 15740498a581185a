/* SPDX-License-Identifier: MIT */
/* One trial: configure, run, watch, tear down. What the program does wrong is a result, not an
 * error. */
#ifndef SPEX_TRIAL_H
#define SPEX_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/policy.h>

#include "measure.h"
#include "why.h"

struct spex_trial_setup {
    const struct spex_space *space;
    const struct spex_policy_ops *policy;
    void *policy_state;
    char *const *argv;
    const char *directory; /* private; the configuration and the socket are made here */
    double ticks_per_second;
    int stop_fd; /* readable: give up; -1 for none */
};

struct spex_trial {
    bool ok;
    char status[512]; /* "ok" or why the trial failed */
    double objective;
    uint64_t records_used;
    uint64_t records_lost;
    double seconds;               /* over which the objective was measured */
    struct spex_measure *measure; /* its records' metrics */
};

/* Runs plan->levels; the trial is to be released. 0 whatever the program did; -EINTR when
 * stop_fd became readable; -EAGAIN when the trial failed because we were held up, and is to be
 * run again; or what went wrong on our side. */
int spex_trial_run(const struct spex_trial_setup *setup, const struct spex_plan *plan,
                   struct spex_trial *trial, struct spex_why *why);
void spex_trial_release(struct spex_trial *trial);

#endif
