/* SPDX-License-Identifier: MIT */
/* Explorations whose trials run elsewhere: the explorer asks the policy and has the store, and
 * somebody else has the trials run and brings what comes of them. A trial may come several times:
 * it is counted once. */
#ifndef SPEX_EXPLORE_ELSEWHERE_H
#define SPEX_EXPLORE_ELSEWHERE_H

#include <spex/explore.h>
#include <spex/policy.h>

#include "explore/space/space.h"
#include "explore/store/circumstances.h"
#include "explore/store/store.h"
#include "measure/trial.h"
#include "text/error.h"

/* What a trial is known by: the number of its plan, and how often it was repeated before. */
struct spex_trial_id {
    uint64_t asked;
    unsigned repeat;
};

enum spex_trial_state {
    /* It is waited for. */
    SPEX_TRIAL_AWAITED,
    /* It is going to be handed out again: what comes of it now is to come later. */
    SPEX_TRIAL_WAITS,
    /* It is in the store, or was never asked for. */
    SPEX_TRIAL_OVER,
    SPEX_TRIAL_UNKNOWN
};

/* The exploration, as it is told to who runs its trials. */
struct spex_exploration {
    const struct spex_explore_options *options;
    const struct spex_space_file *file;
    /* Its class is empty where none was chosen yet: it is to be filled in. */
    struct spex_store_fleet *fleet;
    enum spex_trial_state (*state)(const void *explorer, const struct spex_trial_id *id);
    const void *explorer;
};

/* What has come of a trial. */
struct spex_trial_result {
    struct spex_trial_id id;
    struct spex_trial trial;
    struct spex_circumstances machine;
};

/* Who runs them. Functions return 0 or a negative errno value with the reason. */
struct spex_elsewhere {
    void *user;
    int (*open)(void *user, const struct spex_exploration *of, struct spex_error *error);
    /* Trials that can run at a time now: at least 1. */
    size_t (*places)(void *user);
    /* Has a plan run, which is copied. */
    int (*start)(void *user, const struct spex_plan *plan, const struct spex_trial_id *id,
                 struct spex_error *error);
    /* Waits for a trial that is awaited, and whose levels are those of its plan. -EINTR: stop_fd of
     * the options became readable. */
    int (*wait)(void *user, struct spex_trial_result *result, struct spex_error *error);
    /* The trial that has come last is in the store. */
    int (*stored)(void *user, struct spex_error *error);
    /* The exploration is over. */
    int (*over)(void *user, struct spex_error *error);
};

/* spex_explore, with the trials elsewhere; NULL: here. Of the options, `jobs` is the most trials at
 * a time, and 0 as many as there are places. */
int spex_explore_elsewhere(const struct spex_explore_options *options,
                           const struct spex_elsewhere *elsewhere, char *text, size_t size);

#endif
