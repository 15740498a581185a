/* SPDX-License-Identifier: MIT */
/* Has the trials of an exploration run by the workers of a fleet, all of one class of machines:
 * they go into a work queue, and come back through another one. Whatever of it fails and starts
 * again, a trial is run until its result is in the store. One thread uses it. */
#ifndef SPEX_FLEET_TRIALS_TRIAL_MASTER_H
#define SPEX_FLEET_TRIALS_TRIAL_MASTER_H

#include "explore/elsewhere.h"
#include "fleet/link/link.h"

struct spex_trial_master;

struct spex_trial_master_options {
    struct spex_link_options link;
    const char *fleet;
    /* NULL: that of the store, or the only one that there is. */
    const char *class;
    /* Takes a line for the user. */
    void (*tell)(const char *line);
};

/* 0, or a negative errno value with the reason. The options are to stay. */
int spex_trial_master_open(const struct spex_trial_master_options *options,
                           struct spex_trial_master **master, struct spex_error *error);
void spex_trial_master_close(struct spex_trial_master *master);

/* For spex_explore_elsewhere. */
struct spex_elsewhere spex_trial_master_elsewhere(struct spex_trial_master *master);

#endif
